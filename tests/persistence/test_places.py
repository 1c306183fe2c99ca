"""Places where models can be saved, and their files after an error of the system."""

import os
import stat
import sys

import numpy as np
import pytest

import ngdt
from ngdt import ObliqueTreeClassifier

X = np.random.default_rng(0).normal(size=(40, 3))
Y = X[:, 0] > 0


@pytest.fixture
def model():
    return ObliqueTreeClassifier(1, optimizer=None).fit(X, Y)


def in_file(model, path):
    ngdt.save(model, path)


def in_checkpoint(model, path):
    ObliqueTreeClassifier(1, optimizer=None, checkpoint=path).fit(X, Y)


BOTH = pytest.mark.parametrize("write", [in_file, in_checkpoint])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders")
@pytest.mark.parametrize("is_link", [False, True])
@BOTH
def test_a_pipe_is_not_replaced(tmp_path, model, write, is_link):
    pipe = path = tmp_path / "pipe"
    os.mkfifo(pipe)
    if is_link:
        path = tmp_path / "link"
        path.symlink_to(pipe)
    before = os.listdir(tmp_path)
    with pytest.raises(FileExistsError, match=r"no regular file, but .*pipe'$"):
        write(model, path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert os.listdir(tmp_path) == before


@BOTH
def test_a_folder_is_named(tmp_path, model, write):
    with pytest.raises(FileExistsError) as raised:
        write(model, tmp_path)
    assert str(raised.value).endswith(
        f"but a folder, a pipe or the like, give the path of a file: {str(tmp_path)!r}")


@BOTH
def test_a_folder_in_which_no_file_can_be_made(tmp_path, model, write):
    folder = "/proc"
    if not os.path.isdir(folder):
        folder = tmp_path / "folder"
        folder.mkdir(mode=0o500)
    path = os.path.join(folder, "model.ngdt")
    with pytest.raises(OSError, match="cannot be written") as raised:
        write(model, path)
    assert str(raised.value).endswith(f": {path!r}")


@BOTH
def test_a_name_that_is_too_long(tmp_path, model, write):
    path = tmp_path / ("m" * 300)
    with pytest.raises(OSError, match=r"written|too long") as raised:
        write(model, path)
    assert str(raised.value).endswith(f": {str(path)!r}")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows takes surrogates")
@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"], ids=ascii)
def test_a_name_that_no_file_can_have(model, name):
    for action in (lambda: ngdt.save(model, name), lambda: ngdt.load(name)):
        with pytest.raises(ValueError, match=r"null|surrogates"):
            action()
    with pytest.raises(ValueError, match=r"null|surrogates"):
        in_checkpoint(model, name)


def errors_of_writing(write, model, paths):
    """Messages of a process that can write no file of more than 1000 bytes."""
    import resource

    receive, send = os.pipe()
    pid = os.fork()
    if pid == 0:
        with open(send, "w") as messages:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
            for path in paths:
                try:
                    write(model, path)
                except OSError as error:
                    messages.write(f"{error}\n")
        os._exit(0)
    os.close(send)
    with open(receive) as messages:
        found = messages.read().splitlines()
    os.waitpid(pid, 0)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="needs fork and limits")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("write", [
    ngdt.save, lambda model, path: ngdt.export.export_html(model, path=path)])
def test_a_file_that_outgrows_the_disk(tmp_path, write):
    old, new = (tmp_path / f"{name}.ngdt" for name in ("old", "new"))
    old.write_text("old")
    model = ObliqueTreeClassifier(4, optimizer=None).fit(X, X[:, 0] > X[:, 1])
    messages = errors_of_writing(write, model, (old, new))
    for path, message in zip((old, new), messages, strict=True):
        assert "cannot be written (File too large)" in message
        assert message.endswith(f"{str(path)!r}")
    assert os.listdir(tmp_path) == ["old.ngdt"]
    assert old.read_text() == "old"
