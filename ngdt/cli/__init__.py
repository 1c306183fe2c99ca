"""The command line: one module for each command."""

from ngdt.cli._main import main

__all__ = ["main"]
