"""One epoch of SGD and Stable SGD: Algorithm 1."""
