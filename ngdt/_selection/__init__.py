"""One fit: choose between trees on samples that they were not trained on."""

from ngdt._selection._race import race
from ngdt._selection._result import TrainingResult
from ngdt._selection._sample import draw, training_in_time
from ngdt._selection._train import MIN_GAIN_SE, train

__all__ = ["MIN_GAIN_SE", "TrainingResult", "draw", "race", "train", "training_in_time"]
