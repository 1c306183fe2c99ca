"""OC1: oblique splits by coordinate descent on the impurity."""
