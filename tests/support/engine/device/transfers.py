"""Count the transfers between the host and the simulated GPU, for every sample of an operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import minitensor as mt
from minitensor.engine.device.places import current
from tests.support.engine import samples, samples_functions, samples_indexed
from tests.support.engine.samples import Sample
from tests.support.engine.samples_indexed import Case

assert samples_functions  # imported because it registers samples


def crossed(work: Callable[[], object]) -> tuple[int, int, int]:
    """Call ``work()``; return how many copies to the device, copies to the host, and waits for a number it causes."""
    transfers = current.simulated.transfers
    before = transfers.to_device, transfers.to_host, transfers.waits
    work()
    after = transfers.to_device, transfers.to_host, transfers.waits
    return tuple(b - a for a, b in zip(before, after, strict=True))


def forward_and_backward(sample: Sample, in_place: bool) -> tuple[int, int, int]:
    """Return the transfers of an operation and its backward."""
    tensors = sample.tensors(*sample.wanting(in_place))
    target = tensors[sample.target]
    if in_place and not target.stop_gradient:
        tensors[sample.target] = target.clone()
    shape = target.shape if in_place else sample.run(tensors).shape
    ones = mt.ones(shape, "float64")

    def work() -> None:
        out = sample.run_in_place(tensors) if in_place else sample.run(tensors)
        if not out.stop_gradient:
            out.backward(ones)

    return crossed(work)


def only_backward(case: Case, in_place: bool) -> tuple[int, int, int]:
    """Return the transfers of an indexed operation's backward. Forward is not counted, because it copies the index."""
    tensors = samples_indexed.tensors(case)
    for tensor in tensors:
        tensor.stop_gradient = False
    out = case.run(*(tensor.clone() for tensor in tensors), in_place=in_place)
    ones = mt.ones(out.shape, out.dtype)
    return (0, 0, 0) if out.stop_gradient else crossed(lambda: out.backward(ones))


def everything() -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Yield the name of the operation and the transfers of every sample."""
    for in_place, given in ((False, samples.NORMAL), (True, samples.IN_PLACE)):
        for sample in given:
            yield sample.name, forward_and_backward(sample, in_place)
    for in_place, cases in ((False, samples_indexed.NORMAL), (True, samples_indexed.IN_PLACE)):
        for case in cases:
            yield case.name, only_backward(case, in_place)
