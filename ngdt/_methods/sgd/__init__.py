"""SGD and Stable SGD on the convex-concave bound."""
