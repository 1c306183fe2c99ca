"""Functions of a tree as modules of PyTorch: one for each node, or features for all nodes."""

import numpy as np
import torch
from torch import nn

# Samples that a module evaluates at a time in predictions.
_BLOCK = 2048
# Probability below which a sample is not evaluated by a node in training.
_CUTOFF = 0.01


class NodeFunctions(nn.Module):
    """Modules of all nodes, each of which computes the score of its node.

    Parameters
    ----------
    modules : list of nn.Module
        Each maps a batch to an array of shape (n,) or (n, 1).
    left, right : ndarray of int
        As the children of `Tree`.
    """

    def __init__(self, modules, left, right):
        super().__init__()
        self.nodes, self.left, self.right = nn.ModuleList(modules), left, right

    def forward(self, inputs, gamma):
        """Scores of all nodes, shape (n, n_nodes).

        The score is 0 at a node that a sample hardly reaches, where it makes no difference.
        """
        scores = inputs.new_zeros(len(self.nodes), len(inputs))
        reach = inputs.new_ones(len(self.nodes), len(inputs))
        columns = []
        for node, module in enumerate(self.nodes):
            samples = torch.nonzero(reach[node] >= _CUTOFF)[:, 0]
            column = scores[node]
            if len(samples):
                column = column.index_put((samples,), trained_output(
                    module, inputs[samples]).reshape(-1))
            columns.append(column)
            right = torch.sigmoid(gamma * column.detach())
            for child, share in ((self.left[node], 1.0 - right), (self.right[node], right)):
                if child >= 0:
                    reach[child] = reach[node] * share
        return torch.stack(columns, dim=1)


class SharedFunctions(nn.Module):
    """Linear splits of features that all nodes share.

    Parameters
    ----------
    trunk : nn.Module
        Maps a batch to features, shape (n, n_features).
    n_features, n_nodes : int
    """

    def __init__(self, trunk, n_features, n_nodes):
        super().__init__()
        self.trunk, self.splits = trunk, nn.Linear(n_features, n_nodes)
        with torch.no_grad():   # planes from the unit sphere, as `RandomComplete` has them
            planes = torch.randn(n_nodes, n_features + 1)
            planes /= planes.norm(dim=1, keepdim=True)
            self.splits.weight.copy_(planes[:, :-1])
            self.splits.bias.copy_(planes[:, -1])

    def forward(self, inputs, gamma):
        """Scores of all nodes, shape (n, n_nodes)."""
        return self.splits(trained_output(self.trunk, inputs))


def trained_output(module, inputs):
    """Output of a module for a batch in training.

    A single sample has no variance for batch normalization, so the moments so far are used instead,
    as in predictions.

    Parameters
    ----------
    module : nn.Module
    inputs : Tensor of shape (n, ...)

    Returns
    -------
    Tensor
    """
    module.train(len(inputs) > 1)
    return module(inputs)


def _new(factory, input_shape, parameter):
    """Make a module by a factory; raise a TypeError if it makes none."""
    module = None if isinstance(factory, nn.Module) else factory(input_shape)
    if not isinstance(module, nn.Module):
        raise TypeError(
            f"{parameter} must be a function that makes a new torch.nn.Module, such as lambda "
            f"input_shape: torch.nn.Linear(...), got {factory!r}")
    return module


def made(factory, input_shape, parameter):
    """Make a module by a factory, and count its outputs; raise a ValueError if it does not fit.

    Parameters
    ----------
    factory : callable
    input_shape : tuple of int
        Shape of a sample.
    parameter : str
        For error messages.

    Returns
    -------
    module : nn.Module
    n_outputs : int
    """
    module = _new(factory, input_shape, parameter)
    if parameter == "split" and not any(each.requires_grad for each in module.parameters()):
        raise ValueError(
            "split made a module without weights to train: use one with, such as a torch.nn.Linear")
    module.eval()
    try:
        with torch.no_grad():
            shape = tuple(module(torch.zeros(2, *input_shape)).shape)
    except RuntimeError as error:
        raise ValueError(
            f"{parameter} made a module that fails for a batch of shape {(2, *input_shape)}: "
            f"{error}. Is input_shape the shape of a sample?") from error
    is_score = parameter == "split" and shape in ((2,), (2, 1))
    if not (is_score or (parameter == "trunk" and len(shape) == 2 and shape[0] == 2)):
        wanted = "(n,) or (n, 1)" if parameter == "split" else "(n, n_features)"
        raise ValueError(
            f"{parameter} must make a module that maps a batch of n samples to shape {wanted}; a "
            f"batch of 2 gave {shape}")
    return module, shape[-1]


def evaluate(module, inputs):
    """Output of a module for some samples, as float32.

    Parameters
    ----------
    module : nn.Module
    inputs : ndarray of float32

    Returns
    -------
    ndarray of float32
        One row for each sample.
    """
    module.eval()
    with torch.inference_mode():
        outputs = [
            module(torch.from_numpy(inputs[begin:begin + _BLOCK])).numpy()
            for begin in range(0, len(inputs), _BLOCK)]
    return np.concatenate(outputs).reshape(len(inputs), -1)


def route(nodes, left, right, inputs):
    """Leaf of each sample. A sample is evaluated by the functions of its path only.

    Parameters
    ----------
    nodes : sequence of nn.Module
    left, right : ndarray of int
        As the children of `Tree`.
    inputs : ndarray of float32

    Returns
    -------
    ndarray of int32, shape (n_samples,)
    """
    leaf = np.zeros(len(inputs), dtype=np.int32)
    waiting = [(0 if len(nodes) else ~0, np.arange(len(inputs)))]
    while waiting:
        node, samples = waiting.pop()
        if node < 0:
            leaf[samples] = ~node
        elif len(samples):
            is_right = evaluate(nodes[node], inputs[samples])[:, 0] > 0
            waiting += [(left[node], samples[~is_right]), (right[node], samples[is_right])]
    return leaf


def weights_of(module):
    """Parameters and buffers of a module, dict of str to ndarray."""
    return {name: value.detach().numpy().copy() for name, value in module.state_dict().items()}


def rebuilt(factory, inputs, weights, parameter):
    """Make a module with given weights by a factory; raise a ValueError if they do not fit.

    Parameters
    ----------
    factory : callable
    inputs : ndarray
        Samples, for their shape.
    weights : dict of str to ndarray
    parameter : str
        For error messages.

    Returns
    -------
    nn.Module
    """
    with torch.random.fork_rng(devices=[]):     # its random weights are replaced
        module = _new(factory, inputs.shape[1:], parameter)
    state = {name: torch.from_numpy(np.array(value)) for name, value in weights.items()}
    try:
        module.load_state_dict(state)
    except RuntimeError as error:
        raise ValueError(
            f"{parameter} makes a module other than the fitted one: {error}") from error
    return module.float()       # PyTorch may have another default type
