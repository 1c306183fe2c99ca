"""One fit: choose between trees on samples that they were not trained on."""
