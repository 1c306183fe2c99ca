"""Losses that a tree can be trained on."""

from ngdt._loss import LOSSES, BoundedLoss, HuberLoss, LogLoss, Loss, SquaredLoss, get_loss

__all__ = ["LOSSES", "BoundedLoss", "HuberLoss", "LogLoss", "Loss", "SquaredLoss", "get_loss"]
