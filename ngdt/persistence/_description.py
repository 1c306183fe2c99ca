"""Conversion of models to descriptions that JSON can hold, and arrays, and back.

To the types of values (`ngdt._training.values`), this adds ``{"object": number}``: one of the
``objects`` of the description, each of which is given by its ``class``, the ``arguments`` of its
constructor and the ``attributes`` that it has beyond them.

An object refers to earlier objects only. An object to which several others refer is there once.
"""

from ngdt._core.tree import Tree
from ngdt._training.values import ValueReader, ValueWriter, require_arrays
from ngdt.persistence._check import check
from ngdt.persistence._registry import CLASSES, arguments_of, attributes_of


class Writer(ValueWriter):
    """Writer of objects as descriptions.

    Attributes
    ----------
    objects : list of dict
        Descriptions of the objects so far.
    """

    def __init__(self):
        super().__init__()
        self.objects = []
        self._numbers = {}      # of the objects, by their ids

    def _other(self, thing, where):
        """Describe an object of one of the `CLASSES`, after those that it refers to."""
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
        return {name: self.describe(value, f"{where}.{name}") for name, value in fields.items()}


class Reader(ValueReader):
    """Reader of objects from descriptions.

    Parameters
    ----------
    arrays : dict of str to ndarray
        All arrays of each type as one.
    """

    def __init__(self, arrays):
        super().__init__(arrays)
        self._objects = []
        self._kinds["object"] = self._object

    def add(self, description):
        """Make an object, which refers to objects that have been added before.

        Parameters
        ----------
        description : dict

        Returns
        -------
        object
            One of the `CLASSES`.
        """
        fields = {key: {name: self.value(value) for name, value in description[key].items()}
                  for key in ("arguments", "attributes") if key in description}
        made = CLASSES[description["class"]]
        if made is Tree:
            require_arrays(fields["arguments"].values())
        thing = made(**fields["arguments"])
        if "attributes" in fields:
            vars(thing).update(fields["attributes"])
        check(thing)
        self._objects.append(thing)
        return thing

    def _object(self, number):
        if not 0 <= number < len(self._objects):
            raise ValueError(f"there is no object {number} before the one that refers to it")
        return self._objects[number]
