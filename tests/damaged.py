"""Contents of files, changed at random."""

import copy

import numpy as np

JUNK = [
    None, True, False, 0, 1, -1, 2, 10**6, 10**30, 0.5, 1e308, "", "auto", "yes", [], [[]], {},
    {"tuple": []}, {"dict": []}, {"dict": [[[], 1]]}, {"float": "nan"}, {"float": "x"},
    {"object": 0}, {"object": 1}, {"object": -1}, {"object": 10**6}, {"object": True},
    {"array": ["float64", 0, 1, [1]]}, {"array": ["float64", 0, 2, [1, 2]]},
    {"array": ["int64", 0, 1, [1]]}, {"array": ["int64", 0, 0, [0]]},
    {"array": ["float64", 0, 1, []]}, {"array": ["float64", 0, 0, [0, 10**12]]},
    {"array": ["float64", 2, 1, [-1]]}, {"objects": ["a", None]}, {"objects": 3},
    {"csr": [[1, 10**9], [], [], []]}, {"unheard": 1}]
NUMBERS = {"f": [0.0, -1.0, 1e308, np.nan, np.inf, -np.inf], "i": [0, 1, -1, -2, 100, 2**31 - 1],
           "u": [0, 1, 2**31], "U": ["", "yes", "x"], "b": [True, False]}


def places(node):
    """All places of a description, as containers with a key or an index."""
    for key, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
        yield node, key
        if isinstance(child, dict | list):
            yield from places(child)


def change_description(random, objects):
    """Change, delete, repeat or exchange some values of a description."""
    for _ in range(random.randint(1, 2)):
        if not any(places(objects)):
            return
        node, key = random.choice(list(places(objects)))
        action = random.choice(["junk", "delete", "copy", "nudge"])
        if action == "junk":
            node[key] = copy.deepcopy(random.choice(JUNK))
        elif action == "delete":
            del node[key]
        elif action == "copy":
            other, place = random.choice(list(places(objects)))
            node[key] = copy.deepcopy(other[place])
        elif type(node[key]) in (int, float):
            node[key] += random.choice([-1, 1])
        elif isinstance(node[key], list):
            node[key] += copy.deepcopy(node[key][-1:])


def changed(random, array):
    """An array with other entries, or of another length or type."""
    array = array.copy()
    action = random.choice(["entries", "shorter", "longer", "type"])
    if action == "shorter":
        return array[:random.randint(0, len(array))]
    if action == "longer":
        return np.concatenate([array, array])
    if action == "type":
        return np.ones(len(array), random.choice(["f8", "i4", "i8", "?", "U3", "f4"]))
    for _ in range(min(len(array), random.randint(1, 3))):
        array[random.randrange(len(array))] = random.choice(NUMBERS[array.dtype.kind])
    return array
