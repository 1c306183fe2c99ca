"""Greedy trees with linear leaves."""
