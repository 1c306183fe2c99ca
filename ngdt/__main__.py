"""``python -m ngdt``: the same as the command ``ngdt``."""

import sys

from ngdt.cli import main

if __name__ == "__main__":
    sys.exit(main())
