"""Optimizers under Paddle's names. They write parameters in place, and each write increments the version."""

from minitensor.optimizer import lr
from minitensor.optimizer.adam import Adam, AdamW
from minitensor.optimizer.optimizer import Optimizer
from minitensor.optimizer.rmsprop import RMSProp
from minitensor.optimizer.sgd import SGD, Momentum
from minitensor.paddle.missing import missing

__all__ = ["SGD", "Adam", "AdamW", "Momentum", "Optimizer", "RMSProp", "lr"]


def __getattr__(name: str) -> object:
    raise missing(__name__, name, __all__)
