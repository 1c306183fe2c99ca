"""Greedy trees: by information gain, and pruned."""
