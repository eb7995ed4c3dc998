"""Out of memory: an error with the figures that PyTorch prints, and with advice."""

from __future__ import annotations

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def bytes_text(nbytes: int) -> str:
    """Format ``nbytes`` as PyTorch's messages do: ``1.50 GiB``, ``2.00 MiB``, ``512 bytes``.

    As in PyTorch, a size of exactly 1 MiB is printed in KiB, as ``1024.00 KiB``. The same applies to 1 GiB and 1 KiB.
    """
    for unit, name in _UNITS:
        if nbytes > unit:
            return f"{nbytes / unit:.2f} {name}"
    return f"{nbytes} bytes"


class OutOfMemoryError(RuntimeError):
    """A device cannot provide the requested memory. No tensor has changed.

    Attributes (in bytes, at the time of the failure, after cached segments were released):
        tried: the size of the segment that was requested from the device.
        requested: the size that the tensor needs.
        capacity: the size of the device.
        reserved: the bytes of the device that the allocator has reserved.
        allocated: the reserved bytes that tensors use.
        largest_free: the size of the largest free block.
        device: the name of the device in the message (a text).
    """

    def __init__(
        self,
        tried: int,
        requested: int,
        capacity: int,
        reserved: int,
        allocated: int,
        largest_free: int,
        device: str = "the simulated GPU",
    ) -> None:
        super().__init__(tried, requested, capacity, reserved, allocated, largest_free, device)
        self.tried, self.requested, self.capacity = tried, requested, capacity
        self.reserved, self.allocated, self.largest_free = reserved, allocated, largest_free
        self.device = device

    @property
    def free(self) -> int:
        """Bytes of the device that are not reserved."""
        return self.capacity - self.reserved

    @property
    def unallocated(self) -> int:
        """Bytes that the allocator has reserved and no tensor uses."""
        return self.reserved - self.allocated

    def __str__(self) -> str:
        lines = [
            f"Out of memory on {self.device}. Tried to allocate {bytes_text(self.tried)}. GPU 0 has a total capacity "
            f"of {bytes_text(self.capacity)} of which {bytes_text(self.free)} is free. Of the allocated memory "
            f"{bytes_text(self.allocated)} is allocated by tensors, and {bytes_text(self.unallocated)} is reserved "
            f"but unallocated."
        ]
        if self.tried != self.requested:
            lines.append(
                f"The request was for {bytes_text(self.requested)}; by the allocator's rules, it needs a segment of "
                f"{bytes_text(self.tried)}."
            )
        lines.append("Segments that no tensor uses have been released already; no tensor was touched.")
        lines.append(f"What to try: {self._advice()}")
        return "\n".join(lines)

    def _advice(self) -> str:
        if self.requested > self.capacity:
            return (
                "this one tensor is larger than the device. Make it smaller (a smaller batch, a narrower dtype) or "
                "choose a device with more capacity."
            )
        if self.tried > self.capacity:
            return "the device is smaller than such a segment. Choose a device with more capacity, or other rules."
        if self.unallocated >= self.requested:
            return (
                f"enough bytes are reserved and unused, but in pieces that cannot serve this request (the longest has "
                f"{bytes_text(self.largest_free)}). Drop the tensors between them, then call `empty_cache()`; "
                f"or allocate the large tensors first."
            )
        return (
            "drop tensors that are no longer needed (`del x`), write in place where backward allows it, compute "
            "without history under `no_grad()`, or choose a smaller batch."
        )
