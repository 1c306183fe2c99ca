"""A mistake of the user, which ends the command with one line and exit code 2."""


class Mistake(Exception):
    """The mistake of the user, and the way out, in one line."""
