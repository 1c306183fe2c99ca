"""Trees for more samples than fit into memory: partitions of dask, on one machine or many."""

try:
    from ngdt.dask._estimators import ObliqueTreeClassifier, ObliqueTreeRegressor
    from ngdt.dask._forests import ObliqueForestClassifier, ObliqueForestRegressor
except ModuleNotFoundError as error:
    raise ImportError('ngdt.dask needs dask: python -m pip install "ngdt[dask]"') from error

__all__ = [
    "ObliqueForestClassifier", "ObliqueForestRegressor", "ObliqueTreeClassifier",
    "ObliqueTreeRegressor"]
