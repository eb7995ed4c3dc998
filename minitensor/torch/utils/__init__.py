"""``torch.utils``: gradient checkpointing."""

from minitensor.torch.missing import missing_in
from minitensor.torch.utils import checkpoint

__all__ = ["checkpoint"]

__getattr__ = missing_in("torch.utils", lambda: __all__)
