"""Modules that import PyTorch."""
