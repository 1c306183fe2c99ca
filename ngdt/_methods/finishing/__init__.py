"""Optimizers that finish the tree of another one."""
