"""Linear leaves, fitted by ridge regression."""
