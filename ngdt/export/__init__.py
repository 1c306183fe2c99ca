"""Trees as text."""

from ngdt.export._text import export_text

__all__ = ["export_text"]
