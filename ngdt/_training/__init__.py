"""The contract of all methods: a problem, and how to run and to stop."""
