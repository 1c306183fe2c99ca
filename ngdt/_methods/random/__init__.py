"""Random trees."""
