"""Linear leaves, fitted by ridge regression or logistic regression."""
