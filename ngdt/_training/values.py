"""Conversion of values to descriptions that JSON can hold, and arrays, and back.

Text, finite numbers, True, False, None and lists of these stand for themselves. Each other
value is a JSON object with a single key, which names its type:

- ``{"tuple": [...]}``, ``{"dict": [[key, value], ...]}``, ``{"float": "nan"}``;
- ``{"array": [type, start, stop, shape]}``: a slice of the array of this type, a scalar if it has
  no dimension; ``{"objects": [...]}``: a one-dimensional array of Python objects;
- ``{"csr": [shape, nonzeros, columns, starts]}``: a CSR array; ``{"tree": [...]}``: a `Tree`, by
  the arguments of its constructor.
"""

from functools import singledispatchmethod
from math import isfinite

import numpy as np
from scipy import sparse

from ngdt._core.tree import Tree
from ngdt._util.container import DTYPE_KINDS


class ValueWriter:
    """Writer of values as descriptions. Subclasses describe values of further classes.

    Attributes
    ----------
    arrays : dict of str to ndarray
        All arrays of each type as one.
    """

    def __init__(self):
        self._arrays = {}       # of each type: number of entries so far, and arrays

    @property
    def arrays(self):
        return {name: np.concatenate(added) for name, (_, added) in self._arrays.items()}

    def _other(self, value, where):
        """Describe a tree, or raise a TypeError."""
        if type(value) is not Tree:
            raise TypeError(f"{where} is of type {type(value).__name__}, which a file cannot hold")
        return {"tree": self.describe(list(value._arrays()), where)}

    @singledispatchmethod
    def describe(self, value, where):
        """Describe a value by what JSON can hold, and add its arrays to the others.

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
        if value.dtype.kind not in DTYPE_KINDS:
            raise TypeError(
                f"{where} is an array of type {value.dtype}, which a model file cannot hold. "
                "Convert it to numbers or strings, or use pickle, joblib or skops")
        start, added = self._arrays.setdefault(value.dtype.name, (0, []))
        added.append(np.ravel(value).astype(value.dtype.newbyteorder("<")))
        stop = start + value.size
        self._arrays[value.dtype.name] = stop, added
        return {"array": [value.dtype.name, start, stop, list(value.shape)]}

    @describe.register
    def _(self, value: sparse.csr_array, where):
        arrays = value.data, value.indices, value.indptr
        return {"csr": [list(value.shape), *(self.describe(each, where) for each in arrays)]}


class ValueReader:
    """Reader of values from descriptions. Subclasses make values of further types.

    Parameters
    ----------
    arrays : dict of str to ndarray
        All arrays of each type as one.
    """

    def __init__(self, arrays):
        self._arrays = arrays
        # Each entry is read once, so that values take no more memory than the file.
        self._n_unread = {name: len(array) for name, array in arrays.items()}
        self._kinds = {
            "tuple": lambda content: tuple(self.value(content)),
            "dict": lambda content: dict(self.value(content)),
            "float": float,
            "array": self._array,
            "objects": lambda content: np.fromiter(self.value(content), object, len(content)),
            "csr": self._csr,
            "tree": lambda content: Tree(*self._all_arrays(content)),
        }

    def value(self, description):
        """Make the value of a description.

        Parameters
        ----------
        description : object
            Content of JSON.

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
        found = self._arrays[name][start:stop].reshape(shape)
        array = np.array(found, found.dtype.newbyteorder("="))
        return array if shape else array[()]

    def _csr(self, content):
        shape, *arrays = content
        return sparse.csr_array(tuple(self._all_arrays(arrays)), shape=tuple(shape))

    def _all_arrays(self, content):
        values = self.value(content)
        require_arrays(values)
        return values


def require_arrays(values):
    """Raise a TypeError for lists, which would become arrays of any type and size.

    Parameters
    ----------
    values : iterable of object
    """
    if not all(isinstance(value, np.ndarray | sparse.csr_array | None) for value in values):
        raise TypeError("a tree must consist of arrays")
