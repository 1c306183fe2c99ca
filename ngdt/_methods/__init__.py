"""The methods that make and improve trees, one folder each."""
