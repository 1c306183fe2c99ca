"""Characters that names and labels may hold, but texts may not."""

import re

# Null characters end texts, and surrogates, which stand for half of a character, have no encoding.
_UNWRITABLE = re.compile("[\0\ud800-\udfff]")


def writable(text):
    """Text for readers, with U+FFFD in place of characters that cannot be written.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
    """
    return _UNWRITABLE.sub("\ufffd", text)


def check_writable(text, language):
    """Refuse a program with a name that cannot be written.

    It cannot be replaced either, since the data have the same name.

    Parameters
    ----------
    text : str
    language : str

    Raises
    ------
    ValueError
    """
    found = _UNWRITABLE.search(text)
    if found:
        near = text[max(0, found.start() - 20):found.end()]
        raise ValueError(
            f"a name, a label or a category holds {found[0]!a}, which {language} cannot: rename "
            f"what is called {near!a}")
