"""Names of columns and categories, which may hold anything, as text in one line."""

import re

# Line breaks, other controls, such as those of a terminal, and those that change the direction of
# what is written. NUL, which some formats cannot hold, is replaced where it is written.
_UNSEEN = re.compile("[\x01-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def visible(text):
    """Text in one line, with escapes in the place of controls.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(name):
    """A name in one line that can be seen: an empty one is quoted, and controls are escaped.

    Examples
    --------
    >>> print(one_line("age"), one_line(""), one_line("income\\nin euros"))
    age "" income\\nin euros
    """
    return visible(name) or '""'
