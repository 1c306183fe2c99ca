"""Trees for more samples than fit into memory: partitions of dask, on one machine or many."""

try:
    from ngdt.dask._estimators import ObliqueTreeClassifier, ObliqueTreeRegressor
except ModuleNotFoundError as error:
    raise ImportError('ngdt.dask needs dask: pip install "ngdt[dask]"') from error

__all__ = ["ObliqueTreeClassifier", "ObliqueTreeRegressor"]
