"""Trees as text, and in the languages of other programs."""

from ngdt.export._c import export_c
from ngdt.export._json import export_json
from ngdt.export._sql import export_sql
from ngdt.export._text import export_text

__all__ = ["export_c", "export_json", "export_sql", "export_text"]
