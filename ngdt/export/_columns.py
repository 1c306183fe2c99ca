"""How the columns of a table become the features of a tree, column by column."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers.

    Attributes
    ----------
    name : str
    feature : int
        The feature that is the number.
    fill : float or None
        What stands for a missing number; None where none may be missing.
    gap : int or None
        The feature that is 1 where the number is missing, and else 0.
    """

    name: str
    feature: int
    fill: float | None = None
    gap: int | None = None


@dataclass(frozen=True)
class CategoryColumn:
    """A column of categories, of which at most one feature is 1.

    Attributes
    ----------
    name : str
    features : dict
        The feature of each category.
    missing, other : int or None
        The features of missing categories, and of those that `features` lacks; None if all
        features are 0.
    """

    name: str
    features: dict
    missing: int | None
    other: int | None


def columns_of(model):
    """The columns that a model reads.

    Parameters
    ----------
    model : ExportedModel

    Returns
    -------
    list of NumberColumn or CategoryColumn
        In the order of the table.
    """
    table, names = model.table, model.column_names
    if table is None:
        return [NumberColumn(name, j) for j, name in enumerate(names)]
    first = len(table.numeric)
    gaps = {int(k): first + i for i, k in enumerate(table.gaps)}
    columns = {
        int(j): NumberColumn(names[j], k, float(fill), gaps.get(k))
        for k, (j, fill) in enumerate(zip(table.numeric, table.fill, strict=True))}
    first += len(gaps)
    for j, categories in zip(table.categorical, table.categories, strict=True):
        columns[int(j)] = _category_column(names[j], categories, first)
        first += categories.n_features
    return [columns[j] for j in range(len(names))]


def _category_column(name, categories, first):
    features = {value: first + k for value, k in categories.feature.items()}
    other = first + len(categories.frequent) if categories.rare else None
    missing = features.pop(None, other)
    return CategoryColumn(name, features, missing, other)
