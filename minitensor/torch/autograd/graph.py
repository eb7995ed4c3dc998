"""``torch.autograd.graph``: allow writes into tensors that autograd has saved."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from minitensor.engine.modes import set_inplace_policy
from minitensor.torch.errors import missing_in

__all__ = ["allow_mutation_on_saved_tensors"]


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Copy the bytes of a saved tensor before a write overwrites them, so that ``backward()`` can use the old values.

    The in-place policy is "copy_on_write" within the block.
    """
    with set_inplace_policy("copy_on_write"):
        yield


__getattr__ = missing_in("torch.autograd.graph", lambda: __all__)
