"""Algorithm 1: one epoch of SGD or, with assigned leaves that stay, of Stable SGD."""
