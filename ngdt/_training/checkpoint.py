"""The checkpoint of a training in a file, so that a killed process loses little of it."""

import os
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import partial
from glob import escape
from pathlib import Path
from time import monotonic

from ngdt._core.tree import Tree
from ngdt._training.control import Checkpoint
from ngdt._training.values import ValueReader, ValueWriter
from ngdt._util.container import check_replaceable, path_of_file, read, replacing, write
from ngdt._util.validation import warn

FORMAT = "ngdt checkpoint"
# Least seconds between two writes, and largest share of the time that they take.
INTERVAL, MAX_SHARE = 1.0, 0.05


class CheckpointFile(Checkpoint):
    """The checkpoint of a training in a file: what is in the file if there is one, else a new one.

    One thread at a time may use it.

    Parameters
    ----------
    path : str or os.PathLike
    training : dict of str to str
        What the training is: a digest of each thing that the tree depends on.
    random_state : int
        The seed of a file takes its place.

    Raises
    ------
    ValueError
        If the file is no checkpoint, or one of another training.
    OSError
        If the file cannot be read or written.
    """

    def __init__(self, path, training, random_state):
        self.path = Path(os.path.realpath(path_of_file("checkpoint", path)))
        self.random_state, self._training = random_state, training
        self._results, self._runs = {}, {}
        self._n_steps = self._n_runs = 0
        self._ended = self._warned = False
        self._last, self._seconds = monotonic(), 0.0
        check_replaceable(self.path)    # before it is read: a pipe would be waited for
        for left_over in self.path.parent.glob(f".{escape(self.path.name)}.*.tmp"):
            left_over.unlink(missing_ok=True)
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            self._write()       # now, since an error in an hour would be too late
        else:
            self._read(data)

    def _read(self, data):
        with self.reading():
            description, arrays = read(data, FORMAT)
            content = ValueReader(arrays).value(description["content"])
            training, self.random_state = dict(content["training"]), int(content["random_state"])
            self._results, self._runs = dict(content["results"]), dict(content["runs"])
        self._is_empty = not (self._results or self._runs)
        differences = [name for name in {**self._training, **training}
                       if self._training.get(name) != training.get(name)]
        if differences:
            raise ValueError(
                f"checkpoint: {self.path} belongs to another training, which differs in "
                f"{', '.join(differences)}. Fit with those of the checkpoint to go on with it, or "
                "delete the file")

    @contextmanager
    def reading(self):
        """Context manager of what uses the file: any error in it is one of the file."""
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:
            # As for model files: readers raise many types of errors for damaged input.
            raise ValueError(
                f"checkpoint: {self.path} is no valid checkpoint ({type(error).__name__}: "
                f"{error}). Give another path, or delete the file") from error

    @property
    def is_due(self):
        return not self._ended and monotonic() - self._last >= max(
            INTERVAL, self._seconds / MAX_SHARE)

    def step(self, kind, make):
        key = (self.next_group(),)
        made = self.known(kind, key)
        self._n_runs = 0
        if made is None:
            try:
                made = make()
            except BaseException:
                self._ended = True
                raise
            if not self._ended:
                self._runs = {}
                self.add(key, made)
        return made

    def next_group(self):
        self._n_steps += 1
        return self._n_steps - 1

    def known(self, kind, key):
        found = self._results.get(key)
        if found is None:
            return None
        with self.reading():
            made = found if kind is Tree else kind(**found)
            if not isinstance(getattr(made, "tree", made), Tree):
                raise TypeError("the result of a step must have a tree")
            return made

    def add(self, key, result):
        self._results[key] = {each.name: getattr(result, each.name) for each in fields(result)} if (
            is_dataclass(result)) else result
        self._write_if_due()

    def next_run(self):
        self._n_runs += 1
        return self._n_runs - 1

    def state_of(self, run):
        return self._runs.get(run)

    def keep(self, run, state):
        self._runs[run] = state
        self._write_if_due()

    def end(self):
        self._ended = True

    def remove(self, only_empty=False):
        if self._is_empty or not only_empty:
            self._try(partial(self.path.unlink, missing_ok=True), "removed")

    def _write(self):
        begin = monotonic()
        writer = ValueWriter()
        content = writer.describe({
            "training": self._training, "random_state": self.random_state,
            "results": self._results, "runs": self._runs}, "checkpoint")
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        with replacing(self.path, temporary) as file:
            write(file, {"content": content}, writer.arrays, FORMAT)
        self._is_empty = not (self._results or self._runs)
        self._last = monotonic()
        self._seconds = self._last - begin

    def _write_if_due(self):
        if self.is_due:
            self._try(self._write, "written")
            self._last = monotonic()

    def _try(self, action, done):
        """Warn if an action fails: what has been trained is worth more than a checkpoint."""
        try:
            action()
        except (OSError, TypeError) as error:
            if not self._warned:
                self._warned = True
                warn(f"checkpoint: the file could not be {done} ({type(error).__name__}: {error}). "
                     "The training goes on")
