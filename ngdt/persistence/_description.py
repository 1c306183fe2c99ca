"""Models as descriptions that JSON can hold, and arrays.

Text, finite numbers, True, False, None and lists of these stand for themselves. All else is a JSON
object with a single key, which names its kind:

- ``{"tuple": [...]}``, ``{"dict": [[key, value], ...]}``, ``{"float": "nan"}``;
- ``{"array": [type, start, stop, shape]}``: a part of the array of this type, a scalar if it has no
  dimension; ``{"objects": [...]}``: a one-dimensional array of Python objects;
- ``{"csr": [shape, nonzeros, columns, starts]}``: a CSR array;
- ``{"object": number}``: one of the ``objects`` of the description, each of which is given by its
  ``class``, the ``arguments`` of its constructor and the ``attributes`` that it has beyond them.

An object refers to objects before it only. One to which several refer is there once.
"""

from functools import singledispatchmethod
from math import isfinite

import numpy as np
from scipy import sparse

from ngdt._tree import Tree
from ngdt.persistence._check import check
from ngdt.persistence._container import KINDS
from ngdt.persistence._registry import CLASSES, arguments_of, attributes_of


class Writer:
    """Describes objects.

    Attributes
    ----------
    objects : list of dict
        Descriptions of the objects so far.
    """

    def __init__(self):
        self.objects = []
        self._numbers = {}      # of the objects, by their ids
        self._arrays = {}       # of each type: number of entries so far, and parts

    @property
    def arrays(self):
        """All arrays of each type as one, dict of str to ndarray."""
        return {name: np.concatenate(parts) for name, (_, parts) in self._arrays.items()}

    def add(self, thing, where):
        """Describe an object of one of the `CLASSES`, after those that it refers to.

        Parameters
        ----------
        thing : object
        where : str
            For error messages.

        Returns
        -------
        dict
            The reference to it.
        """
        if id(thing) not in self._numbers:
            name = type(thing).__name__
            if CLASSES.get(name) is not type(thing):
                raise TypeError(
                    f"{where} is of type {name}, which a model file cannot hold. Set it to a "
                    "number, a name or an object of ngdt (a fitted model predicts without its "
                    "parameters), or use pickle, joblib or skops")
            entry = {"class": name, "arguments": self._fields(arguments_of(thing), where)}
            attributes = attributes_of(thing)
            if attributes:
                entry["attributes"] = self._fields(attributes, where)
            check(thing)
            self._numbers[id(thing)] = len(self.objects)
            self.objects.append(entry)
        return {"object": self._numbers[id(thing)]}

    def _fields(self, fields, where):
        return {name: self._value(value, f"{where}.{name}") for name, value in fields.items()}

    @singledispatchmethod
    def _value(self, value, where):
        return self.add(value, where)

    @_value.register
    def _(self, value: bool | int | str | None, where):
        return value

    @_value.register
    def _(self, value: float, where):
        return value if isfinite(value) else {"float": str(value)}

    @_value.register
    def _(self, value: list, where):
        return [self._value(each, f"{where}[{i}]") for i, each in enumerate(value)]

    @_value.register
    def _(self, value: tuple, where):
        return {"tuple": self._value(list(value), where)}

    @_value.register
    def _(self, value: dict, where):
        return {"dict": [self._value(list(item), where) for item in value.items()]}

    @_value.register
    def _(self, value: np.ndarray | np.generic, where):
        if value.dtype.kind == "O" and value.ndim == 1:
            return {"objects": self._value(value.tolist(), where)}
        if value.dtype.kind not in KINDS:
            raise TypeError(
                f"{where} is an array of type {value.dtype}, which a model file cannot hold. "
                "Convert it to numbers or strings, or use pickle, joblib or skops")
        start, parts = self._arrays.setdefault(value.dtype.name, (0, []))
        parts.append(np.ravel(value).astype(value.dtype.newbyteorder("<")))
        stop = start + value.size
        self._arrays[value.dtype.name] = stop, parts
        return {"array": [value.dtype.name, start, stop, list(value.shape)]}

    @_value.register
    def _(self, value: sparse.csr_array, where):
        parts = value.data, value.indices, value.indptr
        return {"csr": [list(value.shape), *(self._value(part, where) for part in parts)]}


class Reader:
    """Makes the objects of a description.

    Parameters
    ----------
    arrays : dict of str to ndarray
        All arrays of each type as one.
    """

    def __init__(self, arrays):
        self._arrays = arrays
        # Each entry belongs to one array: what is made takes no more memory than the file.
        self._n_unread = {name: len(array) for name, array in arrays.items()}
        self._objects = []
        self._kinds = {
            "tuple": lambda content: tuple(self._value(content)),
            "dict": lambda content: dict(self._value(content)),
            "float": float,
            "array": self._array,
            "objects": lambda content: np.fromiter(self._value(content), object, len(content)),
            "csr": self._csr,
            "object": self._object,
        }

    def add(self, description):
        """Make an object whose references lead to objects that have been added before.

        Parameters
        ----------
        description : dict

        Returns
        -------
        object
            One of the `CLASSES`.
        """
        fields = {part: {name: self._value(value) for name, value in description[part].items()}
                  for part in ("arguments", "attributes") if part in description}
        made = CLASSES[description["class"]]
        if made is Tree:
            _require_arrays(fields["arguments"].values())
        thing = made(**fields["arguments"])
        if "attributes" in fields:
            vars(thing).update(fields["attributes"])
        check(thing)
        self._objects.append(thing)
        return thing

    def _value(self, value):
        if isinstance(value, list):
            return [self._value(each) for each in value]
        if not isinstance(value, dict):
            return value
        (kind, content), = value.items()
        return self._kinds[kind](content)

    def _object(self, number):
        if not 0 <= number < len(self._objects):
            raise ValueError(f"there is no object {number} before the one that refers to it")
        return self._objects[number]

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
        parts = tuple(self._value(part) for part in parts)
        _require_arrays(parts)
        return sparse.csr_array(parts, shape=tuple(shape))


def _require_arrays(values):
    """Raise a TypeError for lists, which would become arrays of any type and size."""
    if not all(isinstance(value, np.ndarray | sparse.csr_array | None) for value in values):
        raise TypeError("a tree must consist of arrays")
