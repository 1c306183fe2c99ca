"""Descriptions of networks, which need PyTorch only when they make one."""

from dataclasses import KW_ONLY, dataclass
from math import prod
from typing import ClassVar

from sklearn.base import BaseEstimator

from ngdt._util.optional import import_optional
from ngdt._util.validation import COUNT


def with_torch(module):
    """Import a module that needs PyTorch, or raise an ImportError that says what to install."""
    return import_optional(module, "ngdt.deep needs", "ngdt[deep]")


@dataclass(eq=False, repr=False)
class CNN(BaseEstimator):
    """A small convolutional network, by default the one of Hehn et al. (2020), section 3.4.

    Convolutions, each with maxima over 2 x 2 pixels and ReLU, then a fully connected layer with
    ReLU and a linear one.

    Parameters
    ----------
    channels : tuple of ints, default=(3, 6)
        Number of outputs of each convolution.
    kernel_size : int, default=5
        Pixels of a kernel, in both directions.
    hidden : int, default=50
        Width of the fully connected layer.
    n_outputs : int, default=1
        1 for the score of a split; the number of features for a trunk.

    Examples
    --------
    >>> from ngdt.deep import CNN
    >>> network = CNN(channels=(8, 16))
    >>> network((1, 28, 28))    # doctest: +SKIP
    Sequential(...)
    """

    _parameter_constraints: ClassVar[dict] = {
        "channels": [tuple],
        "kernel_size": [COUNT],
        "hidden": [COUNT],
        "n_outputs": [COUNT],
    }

    channels: tuple = (3, 6)
    _: KW_ONLY
    kernel_size: int = 5
    hidden: int = 50
    n_outputs: int = 1

    def __call__(self, input_shape):
        """Make a network.

        Parameters
        ----------
        input_shape : tuple of three ints
            Channels, rows and columns of an image.

        Returns
        -------
        torch.nn.Sequential
        """
        self._validate_params()
        nn = with_torch("torch.nn")
        if len(input_shape) != 3:
            raise ValueError(
                "CNN needs images: set the parameter input_shape=(channels, rows, columns) of the "
                f"estimator. A sample has the shape {tuple(input_shape)} now")
        layers, (n_channels, *sizes) = [], input_shape
        for width in self.channels:
            layers += [nn.Conv2d(n_channels, width, self.kernel_size), nn.MaxPool2d(2), nn.ReLU()]
            n_channels, sizes = width, [(size - self.kernel_size + 1) // 2 for size in sizes]
        if min(sizes) < 1:
            raise ValueError(
                f"images of {input_shape[1]} x {input_shape[2]} pixels are too small for "
                f"{len(self.channels)} convolutions of kernel_size={self.kernel_size}")
        return nn.Sequential(
            *layers, nn.Flatten(), nn.Linear(n_channels * sizes[0] * sizes[1], self.hidden),
            nn.ReLU(), nn.Linear(self.hidden, self.n_outputs))


def linear(input_shape):
    """A linear split of all numbers of a sample."""
    nn = with_torch("torch.nn")
    return nn.Sequential(nn.Flatten(), nn.Linear(prod(input_shape), 1))
