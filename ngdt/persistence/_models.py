"""Save a model to a file, and load it."""

import os
from contextlib import nullcontext
from typing import IO, Any

from sklearn.base import BaseEstimator

from ngdt._util.container import InvalidModelFile, path_of_file, read, replacing, write
from ngdt._util.version import __version__
from ngdt.persistence._description import Reader, Writer
from ngdt.persistence._registry import MODELS


def save(model: Any, path: str | os.PathLike | IO[bytes]) -> None:
    """Save a model to a file that :func:`~ngdt.load` reads.

    The file holds numbers and text, and no code: see :ref:`saving`. An existing file is replaced
    only when the new one is complete.

    Parameters
    ----------
    model : estimator of ngdt or Tree
        An `ObliqueTreeClassifier`, `ObliqueTreeRegressor`, `ObliqueForestClassifier`,
        `ObliqueForestRegressor`, `ObliqueBoostingRegressor`, `TAOPathCV` or a tree of `ngdt.deep`,
        fitted or not, or a `Tree`.
        It is saved with its parameters and fitted attributes. `callback` and `checkpoint` are
        saved as None, and so are functions that make networks. An estimator of `ngdt.dask` is saved
        as the one of the same name in ngdt.
    path : str, os.PathLike or file object
        Path of the file, such as "model.ngdt", to which no suffix is added, or a binary file that
        is open for writing, such as `io.BytesIO`.

    Raises
    ------
    TypeError
        If the model is of another class, such as a pipeline, or if something in it cannot be
        saved: a function, an object of a class that is not part of ngdt, a RandomState. The message
        says where it is.
    ValueError
        If a parameter is invalid, or attributes that were changed do not fit together.
    OSError
        If the file cannot be written.

    See Also
    --------
    load : Load a model.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import ngdt
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = ngdt.ObliqueTreeClassifier(max_depth=2, optimizer=None).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     ngdt.save(tree, Path(folder) / "iris.ngdt")
    ...     loaded = ngdt.load(Path(folder) / "iris.ngdt")
    >>> loaded.predict(X[:2])
    array([0, 0])
    """
    if hasattr(model, "in_memory"):     # of ngdt.dask, without which it can be loaded
        model = model.in_memory()
    if type(model) not in MODELS:
        raise TypeError(
            "model must be a tree, a forest or another estimator of ngdt, got "
            f"{type(model).__name__}. "
            "Save what ngdt trained in it, such as pipeline[-1] or search.best_estimator_, or save "
            "all of it by skops.io.dump or joblib.dump")
    opened = nullcontext(path) if hasattr(path, "write") else replacing(path_of_file("path", path))
    _check_parameters(model)
    writer = Writer()
    writer.describe(model, type(model).__name__)
    with opened as file:
        write(file, {"ngdt": __version__, "objects": writer.objects}, writer.arrays)


def load(path: str | os.PathLike | IO[bytes]) -> Any:
    """Load a model from a file that :func:`~ngdt.save` wrote.

    No file runs code, and loading takes memory in proportion to the size of the file. Everything is
    checked before it is used. Files of earlier versions of ngdt can be loaded.

    Parameters
    ----------
    path : str, os.PathLike or file object
        Path of the file, or a binary file that is open for reading, which is read to its end.

    Returns
    -------
    estimator of ngdt or Tree
        As it was saved.

    Raises
    ------
    ngdt.persistence.InvalidModelFile
        If the file is damaged, no model, or of a format that only a later version of ngdt reads.
        It is a ValueError.
    OSError
        If the file cannot be read.

    See Also
    --------
    save : Save a model.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import ngdt
    >>> tree = ngdt.Tree([[1.0]], [0.0], [~0], [~1], [[0.0], [1.0]])
    >>> with TemporaryDirectory() as folder:
    ...     ngdt.save(tree, Path(folder) / "tree.ngdt")
    ...     ngdt.load(Path(folder) / "tree.ngdt") == tree
    True
    """
    data = path.read() if hasattr(path, "read") else path_of_file("path", path).read_bytes()
    try:
        description, arrays = read(data)
        reader = Reader(arrays)
        *_, model = [reader.add(each) for each in description["objects"]]
        if type(model) not in MODELS:
            raise TypeError(f"it holds an object of type {type(model).__name__}")
        _check_parameters(model)
        return model
    except (InvalidModelFile, MemoryError):
        raise
    except Exception as error:
        # The readers of zip files, JSON and arrays raise many types of errors for damaged input,
        # and so do constructors for wrong arguments.
        raise InvalidModelFile(
            f"{path} is no valid model file ({type(error).__name__}: {error}): `ngdt fit` and "
            "ngdt.save write such files. A pickle that you trust is read by joblib.load"
        ) from error


def _check_parameters(model):
    """Raise a ValueError if a parameter is one that `fit` would refuse."""
    if isinstance(model, BaseEstimator):
        model._validate_params()
