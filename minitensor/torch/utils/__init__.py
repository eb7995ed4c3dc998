"""``torch.utils``: gradient checkpointing, and data in batches."""

from minitensor.torch.missing import missing_in
from minitensor.torch.utils import checkpoint, data

__all__ = ["checkpoint", "data"]

__getattr__ = missing_in("torch.utils", lambda: __all__)
