"""Names, which may hold anything, as text in one line; lines that fit on a screen."""

import re

# Line breaks, other controls, such as those of a terminal, and those that change the direction of
# what is written. NUL, which some formats cannot hold, is replaced where it is written.
_UNSEEN = re.compile("[\x01-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

# Characters of a line, and those that are left to a line that is far to the right.
_WIDTH, _LEAST_WIDTH = 100, 50
# Before a further term of a sum, and after a comma.
_BREAKS = re.compile(r" (?=[+-] \d)|(?<=,) ")


def visible(text):
    """Text in one line, with escapes in the place of controls."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(name):
    """A name in one line that can be seen: an empty one is quoted, and controls are escaped.

    Examples
    --------
    >>> print(one_line("age"), one_line(""), one_line("income\\nin euros"))
    age "" income\\nin euros
    """
    return visible(name) or '""'


def typeset(text):
    """The text of a number, or of a limit, with the signs of plots and pages."""
    return text.replace("<=", "≤").replace(">=", "≥").replace("-", "−")


def wrapped(text, indent=""):
    """Lines of a text of terms or of a list: several if one has more than 100 characters.

    Parameters
    ----------
    text : str
    indent : str, default=""
        What each line begins with; those that go on are indented further.

    Returns
    -------
    list of str

    Examples
    --------
    >>> wrapped("if 1.2 * age - 3 * debt <= 5:", "    ")
    ['    if 1.2 * age - 3 * debt <= 5:']
    """
    first, *others = _BREAKS.split(text)
    lines, width = [indent + first], max(_WIDTH, len(indent) + _LEAST_WIDTH)
    for part in others:
        if len(lines[-1]) + len(part) < width:
            lines[-1] += f" {part}"
        else:
            lines.append(f"{indent}        {part}")
    return lines
