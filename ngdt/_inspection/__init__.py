"""Statistics, captions and rules of fitted trees, for text and plots."""
