"""Decimal numbers for text and plots: as few digits as serve their end."""

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from math import inf, isfinite

# As many significant digits tell any two float64 apart.
_MAX_DIGITS = 17
# Precision of decimal contexts. Each call makes its own: the user's may have any precision,
# and operations write flags into a context, so that threads must not share one.
_PRECISION = 50
# Numbers with an exponent of ten in this range are written without it, and so are whole numbers,
# such as days and ids, up to the largest one that has a float64 of its own.
_PLAIN_EXPONENTS = range(-4, 7)
_MAX_WHOLE = 2**53
# Probabilities nearer to 1 are written as 1.
_MIN_DOUBT = 5e-7


def exact(value):
    """The shortest decimal that is read as the same float64."""
    return Decimal(repr(float(value)))


def shortest(value, digits, fits=lambda rounded: True):
    """The decimal next to a number with the fewest significant digits that fits.

    Parameters
    ----------
    value : float
        Finite.
    digits : int
        Least number of significant digits. Zeros at the end are not written.
    fits : callable, default=always
        Takes what the decimal is read as, a float64, and returns whether it may be written. It must
        be true of the number itself.

    Returns
    -------
    Decimal

    Examples
    --------
    >>> shortest(2019.5, 3)
    Decimal('2.02E+3')
    >>> shortest(2019.5, 3, fits=lambda year: 2019 <= year < 2020)
    Decimal('2019')
    """
    number = Decimal(float(value))      # all of its binary digits
    context = Context(prec=_PRECISION)
    for n in range(digits, _MAX_DIGITS + 1):
        unit = Decimal(1).scaleb(number.adjusted() - n + 1, context)
        for rounding in (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING):
            rounded = number.quantize(unit, rounding, context)
            if fits(float(rounded)):
                return rounded
    return exact(value)


def format_number(number, digits=3):
    """Write a number without an exponent, unless it is huge or tiny.

    Parameters
    ----------
    number : float or Decimal
        A Decimal is written with all its digits, but for zeros at the end; a whole one with these,
        too.
    digits : int, default=3
        Significant digits of a float.

    Returns
    -------
    str
        `float` reads it as a number.

    Examples
    --------
    >>> [format_number(number) for number in (2019.5, 0.00012, 1.5e-7, -0.0, 1e300)]
    ['2020', '0.00012', '1.5e-7', '0', '1e+300']
    >>> format_number(Decimal("2.018013e+7")), format_number(20180130.0)
    ('20180130', '2.02e+7')
    """
    is_rounded = False
    if not isinstance(number, Decimal):
        if not isfinite(number):
            return str(float(number))
        value, number = float(number), shortest(number, digits)
        is_rounded = float(number) != value
    if number == 0:
        return "0"
    if not is_rounded and abs(number) <= _MAX_WHOLE and number == number.to_integral_value():
        return f"{number.to_integral_value():f}"
    number = Context(prec=_PRECISION).normalize(number)
    is_plain = number.adjusted() in _PLAIN_EXPONENTS or (
        0 < number.adjusted() < len(number.as_tuple().digits))
    return f"{number:{'f' if is_plain else 'e'}}"


def whole_digits(value, decimals=0):
    """Digits that write the whole part of a number: 2019 and 2020 are not the same year.

    Parameters
    ----------
    value : float
    decimals : int, default=0
        Digits after the whole part.

    Returns
    -------
    int
        At least 3.

    Examples
    --------
    >>> [whole_digits(value) for value in (2019.0, 97114.26, 0.123456)]
    [4, 5, 3]
    """
    # Beyond the largest whole number of its own, a float64 is rounded anyway.
    whole = exact(value).adjusted() + 1 if abs(value) <= _MAX_WHOLE else 0
    return max(3, whole + decimals)


def format_value(value, most=inf):
    """Write a value of a sample, for readers who look for it in their table.

    It has more digits where rounding would change it by more than `most`.

    Examples
    --------
    >>> [format_value(value) for value in (2019.0, 97114.26, 0.123456, 20180130.04)]
    ['2019', '97114.3', '0.123', '20180130']
    >>> format_value(1013.25012, 0.001)
    '1013.25'
    """
    return format_within(value, whole_digits(value, decimals=1), most)


def format_within(number, digits, most):
    """Write a number with the fewest digits, but for some, that change it by so much at most.

    Infinity and NaN are written as they are.

    Examples
    --------
    >>> format_within(52.50153, 3, 0.01), format_within(52.50153, 3, 0.001)
    ('52.5', '52.502')
    """
    if not isfinite(number):
        return format_number(number)
    return format_number(shortest(number, digits, lambda rounded: abs(rounded - number) <= most))


def format_probability(probability, digits=3, whole=1.0):
    """Write a probability; near 1, with the digits that tell how far it is from 1.

    Parameters
    ----------
    probability : float
    digits : int, default=3
        Least number of significant digits.
    whole : float, default=1.0
        What 1 is written as: 100 for per cent.

    Returns
    -------
    str

    Examples
    --------
    >>> [format_probability(p) for p in (0.6667, 0.9984, 0.99984, 1.0)]
    ['0.667', '0.998', '0.9998', '1']
    >>> format_probability(0.99984, whole=100)
    '99.98'
    """
    value = whole * min(float(probability), 1.0)
    return format_within(value, digits, max(0.5 * (whole - value), _MIN_DOUBT * whole))


def percent(share):
    """A share, from 0 to 1, in per cent."""
    return "under 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def count(n, one, many=None):
    """A number of things.

    Parameters
    ----------
    n : int
    one : str
        What one of them is called.
    many : str, default=None
        What several are called. None adds an s.

    Returns
    -------
    str

    Examples
    --------
    >>> count(2, "column"), count(1, "leaf", "leaves")
    ('2 columns', '1 leaf')
    """
    return f"{n} {one if n == 1 else many or one + 's'}"


def aligned(rows):
    """Rows of texts as lines, with columns that end below each other.

    Parameters
    ----------
    rows : list of sequence of str

    Returns
    -------
    str

    Examples
    --------
    >>> print(aligned([("C", "splits"), ("0.1", "7")]))
      C  splits
    0.1       7
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(
        cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def table_text(columns):
    """Columns of numbers below their heads, as lines."""
    rows = zip(*columns.values(), strict=True)
    return aligned([list(columns), *([f"{value:.4g}" for value in row] for row in rows)])


def place_between(value, low, high):
    """Place of a value between two others: 0 at the lower one, 1 at the higher one."""
    # Halved, as the difference may overflow.
    return (value / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
