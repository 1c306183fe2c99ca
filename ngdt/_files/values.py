"""Values as descriptions that JSON can hold, and arrays.

Text, finite numbers, True, False, None and lists of these stand for themselves. All else is a JSON
object with a single key, which names its kind:

- ``{"tuple": [...]}``, ``{"dict": [[key, value], ...]}``, ``{"float": "nan"}``;
- ``{"array": [type, start, stop, shape]}``: a part of the array of this type, a scalar if it has no
  dimension; ``{"objects": [...]}``: a one-dimensional array of Python objects;
- ``{"csr": [shape, nonzeros, columns, starts]}``: a CSR array.
"""

from functools import singledispatchmethod
from math import isfinite

import numpy as np
from scipy import sparse

from ngdt._files.container import KINDS


class ValueWriter:
    """Describes values. A subclass describes those of more classes.

    Attributes
    ----------
    arrays : dict of str to ndarray
        All arrays of each type as one.
    """

    def __init__(self):
        self._arrays = {}       # of each type: number of entries so far, and parts

    @property
    def arrays(self):
        return {name: np.concatenate(parts) for name, (_, parts) in self._arrays.items()}

    def _other(self, value, where):
        """Describe a value of another class."""
        raise TypeError(f"{where} is of type {type(value).__name__}, which a file cannot hold")

    @singledispatchmethod
    def describe(self, value, where):
        """What JSON can hold in place of a value, whose arrays are added to the others.

        Parameters
        ----------
        value : object
        where : str
            For error messages.
        """
        return self._other(value, where)

    @describe.register
    def _(self, value: bool | int | str | None, where):
        return value

    @describe.register
    def _(self, value: float, where):
        return value if isfinite(value) else {"float": str(value)}

    @describe.register
    def _(self, value: list, where):
        return [self.describe(each, f"{where}[{i}]") for i, each in enumerate(value)]

    @describe.register
    def _(self, value: tuple, where):
        return {"tuple": self.describe(list(value), where)}

    @describe.register
    def _(self, value: dict, where):
        return {"dict": [self.describe(list(item), where) for item in value.items()]}

    @describe.register
    def _(self, value: np.ndarray | np.generic, where):
        if value.dtype.kind == "O" and value.ndim == 1:
            return {"objects": self.describe(value.tolist(), where)}
        if value.dtype.kind not in KINDS:
            raise TypeError(
                f"{where} is an array of type {value.dtype}, which a model file cannot hold. "
                "Convert it to numbers or strings, or use pickle, joblib or skops")
        start, parts = self._arrays.setdefault(value.dtype.name, (0, []))
        parts.append(np.ravel(value).astype(value.dtype.newbyteorder("<")))
        stop = start + value.size
        self._arrays[value.dtype.name] = stop, parts
        return {"array": [value.dtype.name, start, stop, list(value.shape)]}

    @describe.register
    def _(self, value: sparse.csr_array, where):
        parts = value.data, value.indices, value.indptr
        return {"csr": [list(value.shape), *(self.describe(part, where) for part in parts)]}


class ValueReader:
    """Makes the values of descriptions. A subclass makes those of more kinds.

    Parameters
    ----------
    arrays : dict of str to ndarray
        All arrays of each type as one.
    """

    def __init__(self, arrays):
        self._arrays = arrays
        # Each entry belongs to one array: what is made takes no more memory than the file.
        self._n_unread = {name: len(array) for name, array in arrays.items()}
        self._kinds = {
            "tuple": lambda content: tuple(self.value(content)),
            "dict": lambda content: dict(self.value(content)),
            "float": float,
            "array": self._array,
            "objects": lambda content: np.fromiter(self.value(content), object, len(content)),
            "csr": self._csr,
        }

    def value(self, description):
        """The value of a description.

        Parameters
        ----------
        description : object
            What JSON holds.

        Returns
        -------
        object
        """
        if isinstance(description, list):
            return [self.value(each) for each in description]
        if not isinstance(description, dict):
            return description
        (kind, content), = description.items()
        return self._kinds[kind](content)

    def _array(self, content):
        name, start, stop, shape = content
        self._n_unread[name] -= stop - start
        if not 0 <= start <= stop or self._n_unread[name] < 0:
            raise ValueError(f"{start} to {stop} is no part of the array {name}")
        part = self._arrays[name][start:stop].reshape(shape)
        array = np.array(part, part.dtype.newbyteorder("="))
        return array if shape else array[()]

    def _csr(self, content):
        shape, *parts = content
        parts = tuple(self.value(part) for part in parts)
        require_arrays(parts)
        return sparse.csr_array(parts, shape=tuple(shape))


def require_arrays(values):
    """Raise a TypeError for lists, which would become arrays of any type and size.

    Parameters
    ----------
    values : iterable of object
    """
    if not all(isinstance(value, np.ndarray | sparse.csr_array | None) for value in values):
        raise TypeError("a tree must consist of arrays")
