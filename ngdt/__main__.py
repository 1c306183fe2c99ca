"""Command line, as ``python -m ngdt``."""

import sys

from ngdt.cli import main

if __name__ == "__main__":
    sys.exit(main())
