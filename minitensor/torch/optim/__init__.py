"""``torch.optim``: optimizers that write the parameters in place, and schedules of their learning rates.

Every step writes each parameter once, and the write increments the parameter's version.
"""

from minitensor.torch.errors import missing_in
from minitensor.torch.optim import lr_scheduler
from minitensor.torch.optim.algorithms import SGD, Adam, AdamW, RMSprop
from minitensor.torch.optim.optimizer import Optimizer

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]

__getattr__ = missing_in("torch.optim", lambda: __all__)
