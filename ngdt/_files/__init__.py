"""Files of numbers and text: the container, and the values in it."""
