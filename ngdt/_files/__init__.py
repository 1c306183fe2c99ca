"""Files of numbers and text: the container, and values as what it can hold."""
