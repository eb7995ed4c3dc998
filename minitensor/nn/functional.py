"""Functions that networks use, normal and in place."""

from minitensor.operations import found_in

globals().update(found_in("F"))

__all__ = sorted(found_in("F"))  # noqa: PLE0605
