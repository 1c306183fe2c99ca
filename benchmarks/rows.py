"""CSV files of results that a run which was stopped goes on with."""

import csv
from pathlib import Path


def add_rows(path, fields, keys, run):
    """Append the rows that a file lacks, each as soon as it is there.

    Parameters
    ----------
    path : str or Path
    fields : list of str
        Columns of the file.
    keys : list of str
        Columns that tell one row from the others.
    run : callable
        Takes the keys of the rows of the file, a set of tuples of str, and yields the others as
        dicts.

    Yields
    ------
    dict
        Each row after it was written.
    """
    path, done = Path(path), set()
    if path.exists():
        with open(path, newline="") as file:
            done = {tuple(row[key] for key in keys) for row in csv.DictReader(file)}
    with open(path, "a", newline="") as file:
        writer = csv.DictWriter(file, fields)
        if file.tell() == 0:
            writer.writeheader()
        for row in run(done):
            writer.writerow(row)
            file.flush()
            yield row
