"""Tree alternating optimization."""
