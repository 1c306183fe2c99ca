"""Greedy growth: the builder, and the exact search for axis-aligned splits."""
