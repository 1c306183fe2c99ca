"""Global tree optimization by linear programs."""
