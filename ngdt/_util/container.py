"""Container of all files: a zip archive of a description in JSON and of arrays.

A member of the archive holds all arrays of one type, one after the other, since a forest has
hundreds of small arrays. The description refers to an array by the member and its position there.
"""

import json
import os
from contextlib import contextmanager, suppress
from errno import EEXIST, ENOENT
from io import BytesIO
from pathlib import Path
from uuid import uuid4
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from ngdt._util.validation import error_prefix

FORMAT = "ngdt model"
# Raise it if older code would misread a new format, or the classes in it.
FORMAT_VERSION = 1
DESCRIPTION = "model.json"
ARRAY_SUFFIX = ".npy"
# Values of `dtype.kind` for arrays: bool, integers, floats, strings, dates.
DTYPE_KINDS = "biufUM"


class InvalidModelFile(ValueError):
    """Error for a file that `ngdt.load` refuses: no model, damaged, or of a later format.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import ngdt
    >>> with TemporaryDirectory() as folder:
    ...     (Path(folder) / "empty").touch()
    ...     try:
    ...         ngdt.load(Path(folder) / "empty")
    ...     except ngdt.persistence.InvalidModelFile:
    ...         print("no model")
    no model
    """


def path_of_file(parameter, given):
    """Path that a parameter gives, whose name is for error messages."""
    with error_prefix(parameter):
        return Path(given)


def check_replaceable(path):
    """Refuse, by an OSError, to replace a folder, a pipe, a device or a socket by a file."""
    if path.exists() and not path.is_file():
        raise FileExistsError(
            EEXIST, "This is no regular file, but a folder, a pipe or the like, give the path of "
            "a file", str(path))


@contextmanager
def replacing(path, temporary=None):
    """Open a binary file that replaces `path` when the block has succeeded (context manager).

    If the block fails, or the process ends in it, the earlier file stays. Errors of the system name
    `path`.

    Parameters
    ----------
    path : Path
    temporary : Path, default=None
        Path of the file until then, in the same folder. None takes a new name.

    Yields
    ------
    file object
    """
    given, path = path, Path(os.path.realpath(path))    # the target of a link, not the link
    if not path.parent.is_dir():            # the error of `open` would name the temporary file
        raise FileNotFoundError(
            ENOENT, "There is no such folder, create it first", str(path.parent))
    check_replaceable(path)
    # Files of `tempfile` can be read by their owner only.
    temporary = path.with_name(f".{uuid4().hex}.tmp") if temporary is None else temporary
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):     # there is none if `open` failed
            temporary.unlink()
        # An error of `write` names no file, other errors name the temporary one.
        if isinstance(error, OSError) and error.errno and (
                error.filename in (None, str(temporary))):
            raise type(error)(
                error.errno, f"The file cannot be written ({error.strerror})", str(given)
            ) from error
        raise


@contextmanager
def writing(path):
    """Open a binary file for a result (context manager): `replacing`, but for pipes and devices.

    These, such as /dev/stdout, hold nothing that a failure could destroy, and are written to.

    Parameters
    ----------
    path : str or os.PathLike

    Yields
    ------
    file object
    """
    path = path_of_file("path", path)
    is_special = path.exists() and not (path.is_file() or path.is_dir())
    with open(path, "wb") if is_special else replacing(path) as file:
        yield file


def write(file, description, arrays, file_format=FORMAT):
    """Write a file. Equal contents make equal files.

    Parameters
    ----------
    file : file object
    description : dict
        Content that JSON can hold, without NaN and infinity.
    arrays : dict of str to ndarray
        One-dimensional arrays by the name of their type.
    file_format : str, default="ngdt model"
        Name of the format.
    """
    text = json.dumps(
        {"format": file_format, "version": FORMAT_VERSION} | description, allow_nan=False,
        separators=(",", ":"))
    # Not compressed, so that reading takes no more memory than the file has bytes.
    with ZipFile(file, "w", ZIP_STORED) as archive:
        archive.writestr(ZipInfo(DESCRIPTION), text)
        for name, array in arrays.items():
            stream = BytesIO()
            np.lib.format.write_array(stream, array, version=(1, 0), allow_pickle=False)
            archive.writestr(ZipInfo(name + ARRAY_SUFFIX), stream.getvalue())


def read(data, file_format=FORMAT):
    """Read a file.

    Parameters
    ----------
    data : bytes
        The whole file, so that an error of the reader is one of its content, not of the disk.
    file_format : str, default="ngdt model"
        Name that the format must have.

    Returns
    -------
    description : dict
    arrays : dict of str to ndarray
        Read-only.
    """
    with ZipFile(BytesIO(data)) as archive:
        members = archive.infolist()
        sizes = [member.file_size for member in members]
        if any(member.compress_type != ZIP_STORED for member in members) or sum(sizes) > len(data):
            raise ValueError("its members must be stored without compression, and apart")
        contents = {member.filename: archive.read(member) for member in members}
    if len(contents) != len(members):
        raise ValueError("some members have the same name")
    description = json.loads(contents.pop(DESCRIPTION))
    _check_version(description, file_format)
    return description, {
        name.removesuffix(ARRAY_SUFFIX): _array(name, content)
        for name, content in contents.items()}


def _check_version(description, file_format):
    if description["format"] != file_format:
        raise ValueError(f"its format is {description['format']!r}, not {file_format!r}")
    version = description["version"]
    if type(version) is not int or version < 1:
        raise ValueError(f"{version!r} is no version of the format")
    if version > FORMAT_VERSION:
        raise InvalidModelFile(
            f"the file has version {version} of the format, of which this ngdt reads versions up "
            f"to {FORMAT_VERSION}. Update ngdt (ngdt {description.get('ngdt')} wrote the file), or "
            "save the model anew with this version")


def _array(name, content):
    """Array in the bytes of a .npy file, without a copy."""
    stream = BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError(f"{name} is of an unknown version of the .npy format")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.kind not in DTYPE_KINDS or name != dtype.name + ARRAY_SUFFIX:
        raise ValueError(f"{name} holds an array of type {dtype}")
    array = np.frombuffer(content, dtype, offset=stream.tell())
    if array.shape != shape:
        raise ValueError(f"{name} has {len(array)} entries, not {shape}")
    return array
