"""``torch.utils``: gradient checkpointing, and data in batches.

The same seed gives the same order of samples as in PyTorch. A batch is a copy of its samples, unless views are
requested.
"""

from minitensor.torch.errors import missing_in
from minitensor.torch.utils import checkpoint, data

__all__ = ["checkpoint", "data"]

__getattr__ = missing_in("torch.utils", lambda: __all__)
