"""The methods that are compared: each a dict of candidates, among which validation chooses."""

from ngdt import ObliqueTreeClassifier
from ngdt.initializers import CO2, RandomComplete
from ngdt.optimizers import SSGD, TAO, Annealed

TAO_L2 = (0.0003, 0.003, 0.03, 0.1)
TAO_L1 = (0.03, 0.1, 0.3, 1.0, 3.0)
# Learning rates of stable SGD, and its regularisation: two of the paper's, and our rule.
RATES, NUS = (0.1,), ("auto", 4.0, 43.0)


def tree(depth, seed, init, optimizer=None):
    """A tree that is trained on all samples it is given, and has no baseline."""
    return ObliqueTreeClassifier(
        depth, init=init, optimizer=optimizer, validation_fraction=None, random_state=seed)


def greedy(init):
    return lambda depth, seed: {"": tree(depth, seed, init)}


def non_greedy(depth, seed):
    """Stable SGD as in the paper: from CO2, samples assigned to the leaves that they reach."""
    return {
        f"learning_rate={rate} nu={nu}": tree(depth, seed, CO2(), SSGD(
            assignment="navigate", renew="plateau", learning_rate=rate, nu=nu))
        for rate in RATES for nu in NUS}


def ssgd(depth, seed):
    return {"": tree(depth, seed, "info_gain", SSGD())}


def annealed(**parameters):
    return lambda depth, seed: {
        "": tree(depth, seed, "random_complete", Annealed(**parameters))}


def slow(depth, seed):
    """As deep as said, where the name stops at 8 levels, and trained as in a forest of images."""
    return {"": tree(depth, seed, RandomComplete(depth), Annealed(
        steps=4500, gamma=(1.0, 14.0), q=0.2, learning_rate=0.001))}


def tao(penalty, costs):
    return lambda depth, seed: {
        f"C={C}": tree(depth, seed, "info_gain", TAO(C, penalty=penalty)) for C in costs}


METHODS = {
    "axis-aligned": greedy("info_gain"),
    "random": greedy("random"),
    "oc1": greedy("oc1"),
    "co2": greedy("co2"),
    "pruned": greedy("pruned"),
    "non-greedy": non_greedy,
    "ssgd": ssgd,
    "tao": tao("l2", TAO_L2),
    "tao_l1": tao("l1", TAO_L1),
    "annealed": annealed(steps=4500),
    "annealed-2250": annealed(steps=2250),
    "annealed-6000": annealed(steps=6000),
    "annealed-9000": annealed(steps=9000),
    "annealed-steep": annealed(steps=4500, gamma=(1.0, 14.0), q=0.2),
    "annealed-slow": slow,
}
