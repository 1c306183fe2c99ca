"""Training with soft routing: `Annealed` and `EndToEnd`."""
