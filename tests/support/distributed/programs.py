"""Programs for two or four ranks. Rank 0 writes the results that all ranks returned into a file.

    mpiexec -n 4 python -m tests.support.distributed.programs FILE

A program receives the communicator of its ranks and returns a value for JSON. One job runs all programs, because
starting a job takes longer than running them.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import minitensor as mt
from book_kit.data.bundled import digits
from book_kit.data.lenet import LeNet
from minitensor import distributed as dist
from minitensor.nn import functional as F

PROGRAMS: dict[str, tuple[int, Callable[[Any], Any]]] = {}
TIMEOUT = 60.0  # seconds; long, because a busy machine is not a fault of the program


def ranks(count: int) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        PROGRAMS[f"{function.__name__}_{count}"] = count, function
        return function

    return register


def error_of(call: Callable[[], Any]) -> list[str]:
    """Return the type and the message of the error that a call raises, or "nothing" and "" if it raises none."""
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]
    return ["nothing", ""]


# ---------- all-reduce ----------


def numbers(rank: int) -> np.ndarray:
    return np.array([[1.5, -2.0, 3.0], [0.25, 5.0, -6.0]]) * (rank + 1) + rank


@ranks(4)
def all_reduce(comm):
    found = {}
    for device in ("cpu", "gpu"):
        mt.set_device(device)
        for op in ("sum", "max", "min", "prod", "avg"):
            x = mt.to_tensor(numbers(comm.rank))
            same = dist.all_reduce(x, op) is x
            found[f"{op} {device}"] = [x.tolist(), same, x.inplace_version]
        whole = mt.to_tensor(numbers(comm.rank))
        dist.all_reduce(whole.t()[1:])
        found[f"part {device}"] = [whole.tolist(), whole.inplace_version]
    mt.set_device("cpu")
    return found


@ranks(4)
def broadcast(comm):
    x = mt.to_tensor(numbers(comm.rank))
    dist.broadcast(x, 2)
    return [x.tolist(), x.inplace_version, error_of(lambda: dist.broadcast(x, 4))]


@ranks(2)
def refused(comm):
    w = mt.ones([3], "float64")
    w.stop_gradient = False
    y = w * 2.0
    z = (y * y).sum()
    wants = error_of(lambda: dist.all_reduce(y))
    wide = mt.ones([1], "float64").detach()
    truth = error_of(lambda: dist.all_reduce(mt.ones([2]) > 0.0))
    number = error_of(lambda: dist.all_reduce(3.0))
    unknown = error_of(lambda: dist.all_reduce(wide, "median"))
    counts = error_of(lambda: dist.all_reduce(mt.to_tensor([1, 2]), "avg"))
    untouched = y.tolist()
    with mt.no_grad():
        dist.all_reduce(y)
    stale = error_of(z.backward)
    return {
        "wants": wants,
        "truth": truth,
        "number": number,
        "unknown": unknown,
        "counts": counts,
        "untouched": untouched,
        "summed": y.tolist(),
        "stale": stale,
    }


@ranks(4)
def other_shapes(comm):
    x = mt.ones([2 if comm.rank == 3 else 3], "float64")
    return [error_of(lambda: dist.all_reduce(x)), x.tolist(), x.inplace_version]


@ranks(4)
def other_calls(comm):
    x = mt.ones([3], "float64")
    return error_of(lambda: dist.broadcast(x, 0) if comm.rank == 1 else dist.all_reduce(x))


@ranks(4)
def one_is_missing(comm):
    dist.init_parallel_env(comm, timeout=0.5)
    x = mt.ones([3], "float64")
    if comm.rank == 2:
        comm.Barrier()  # the other ranks reach this barrier after giving up
        return None
    began = time.monotonic()
    error = error_of(lambda: dist.all_reduce(x))
    waited = time.monotonic() - began
    comm.Barrier()
    return [error, x.tolist(), x.inplace_version, waited]


@ranks(2)
def sum_with_gradient(comm):
    x = mt.to_tensor(numbers(comm.rank), stop_gradient=False)
    y = dist.sum_over_ranks(x)
    (y * y * (comm.rank + 1.0)).sum().backward()
    (second,) = mt.grad(mt.grad((dist.sum_over_ranks(x) ** 3).sum(), x, create_graph=True)[0].sum(), x)
    return [y.tolist(), x.grad.tolist(), second.tolist(), x.tolist()]


# ---------- training ----------


@cache
def scans() -> tuple[np.ndarray, np.ndarray]:
    """Return the first scans of scikit-learn's digits, one per row."""
    found, labels = digits()
    return found[:192].reshape(-1, 64).astype(np.float64), labels[:192]


def network(norm: Callable[[int], Any] | None = None) -> mt.nn.Layer:
    mt.seed(7)
    # Before a normalization a bias has gradient 0, up to rounding, so its trained values cannot be compared.
    first = [mt.nn.Linear(64, 16, bias_attr=False), norm(16)] if norm else [mt.nn.Linear(64, 16)]
    hidden = [*first, mt.nn.ReLU(), mt.nn.Linear(16, 10)]
    return mt.nn.Sequential(*hidden).to(dtype="float64")


def train(rank: int, size: int, norm: Any = None, steps: int = 6, after: Any = None) -> dict[str, Any]:
    """Train on this rank's share of each batch. Return the final parameters and buffers, and the losses."""
    rows, labels = scans()
    net = network(norm)
    optimizer = mt.optimizer.Momentum(0.2, parameters=net.parameters())
    losses = []
    for step in range(steps):
        batch = slice(32 * step % 192 + rank, 32 * step % 192 + 32, size)
        x, y = mt.to_tensor(rows[batch]), mt.to_tensor(labels[batch])
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        if size > 1:
            dist.average_gradients(net.parameters())
        optimizer.step()
        optimizer.clear_grad()
        if after:
            after(step, net)
        with mt.no_grad():
            losses.append((dist.all_reduce(loss.detach().clone(), "avg") if size > 1 else loss).item())
    return {"state": {name: x.numpy() for name, x in net.state_dict().items()}, "losses": losses, "net": net}


def difference(found: dict[str, Any], right: dict[str, Any]) -> float:
    """Return the largest difference of two states; each difference is divided by the largest number of its entry."""
    return max(
        float(np.abs(found["state"][name] - value).max() / np.abs(value).max())
        for name, value in right["state"].items()
    )


def lenet(part: int, parts: int) -> dict[str, Any]:
    """Train the book's LeNet for two steps. Its normalizations are synchronised if the batch is divided."""
    mt.seed(7)
    net: Any = LeNet(inplace=True).to(dtype="float64")
    if parts > 1:
        net = mt.nn.SyncBatchNorm.convert_sync_batchnorm(net)
    # The bias of a convolution before a normalization has gradient 0, up to rounding, as in `network`.
    weights = [p for name, p in net.named_parameters() if not name.startswith("conv") or not name.endswith("bias")]
    optimizer = mt.optimizer.SGD(0.1, parameters=weights)
    rows, labels = scans()
    for step in range(2):
        batch = slice(32 * step + part, 32 * step + 32, parts)
        x = mt.to_tensor(rows[batch].reshape(-1, 1, 8, 8))
        F.cross_entropy(net(x), mt.to_tensor(labels[batch])).backward()
        if parts > 1:
            dist.average_gradients(weights)
        optimizer.step()
        optimizer.clear_grad()
    state = {name: x.numpy() for name, x in net.state_dict().items() if np.abs(x.numpy()).max() > 0}
    return {"state": state}


def compared(comm: Any) -> dict[str, Any]:
    right = train(0, 1)
    found = train(comm.rank, comm.size)
    dist.check_equal(found["net"].state_dict())
    norms = {
        name: difference(train(comm.rank, comm.size, norm), train(0, 1, mt.nn.BatchNorm1D))
        for name, norm in (("apart", mt.nn.BatchNorm1D), ("synchronised", mt.nn.SyncBatchNorm))
    }
    return {
        "difference": difference(found, right),
        "losses": float(np.abs(np.subtract(found["losses"], right["losses"])).max()),
        "falls": found["losses"][-1] / found["losses"][0],
        "lenet": difference(lenet(comm.rank, comm.size), lenet(0, 1)),
        **norms,
    }


@ranks(2)
def training(comm):
    return compared(comm)


@ranks(4)
def training_on_four(comm):
    return compared(comm)


@ranks(2)
def shares_of_several_sizes(comm):
    """Compare SyncBatchNorm, with five pictures on rank 0 and three on rank 1, with BatchNorm on all eight."""
    pictures = np.random.default_rng(0).normal(size=(8, 3, 2, 2))
    slopes = np.random.default_rng(1).normal(size=(8, 3, 2, 2))
    mine = slice(0, 5) if comm.rank == 0 else slice(5, 8)

    def run(layer, part):
        x = mt.to_tensor(pictures[part], stop_gradient=False)
        out = layer.to(dtype="float64")(x)
        (out * mt.to_tensor(slopes[part])).sum().backward()
        return out.numpy(), x.grad.numpy(), layer.weight.grad, layer._mean.numpy(), layer._variance.numpy()

    sync, one = mt.nn.SyncBatchNorm.convert_sync_batchnorm(mt.nn.BatchNorm2D(3)), mt.nn.BatchNorm2D(3)
    found, right = run(sync, mine), run(one, slice(None))
    dist.all_reduce(found[2])
    pairs = [
        (found[0], right[0][mine]),
        (found[1], right[1][mine]),
        (found[2].numpy(), right[2].numpy()),
        *zip(found[3:], right[3:], strict=True),
    ]
    sync.eval()
    one.eval()
    pairs.append((sync(mt.to_tensor(pictures)).numpy(), one(mt.to_tensor(pictures)).numpy()))
    return [float(np.abs(a - b).max()) for a, b in pairs]


# ---------- one rank with other parameters ----------


def extra_write(rank: int) -> Callable[[int, Any], None]:
    """Return a function for ``train`` that halves a weight in place after the second step, on one rank only."""

    def after(step: int, net: Any) -> None:
        if step == 1 and dist.get_rank() == rank:
            with mt.no_grad():
                net[2].weight.scale_(0.5)

    return after


def named(call: Callable[[], Any]) -> Any:
    try:
        call()
    except dist.RanksDifferError as error:
        return [error.ranks, error.parameter, str(error)]
    return None


@ranks(4)
def who_differs(comm):
    net = train(comm.rank, comm.size, after=extra_write(2))["net"]
    return named(lambda: dist.check_equal(net.state_dict()))


@ranks(2)
def who_of_two_differs(comm):
    net = train(comm.rank, comm.size, after=extra_write(1))["net"]
    other = mt.full([2], 1.0 + comm.rank)
    return [named(lambda: dist.check_equal(net.state_dict())), named(lambda: dist.check_equal([other]))]


def wait_for_all(comm: Any) -> None:
    """Wait at a barrier, mostly asleep. MPI's own waits never sleep, which slows down the ranks that still work."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(1e-3)


def main(file: str) -> None:
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    groups = {count: world.Split(int(world.rank < count), world.rank) for count in (2, 4)}
    results: dict[str, Any] = {}
    for name, (count, function) in PROGRAMS.items():
        if world.rank < count:
            dist.init_parallel_env(groups[count], timeout=TIMEOUT)
            try:
                results[name] = function(groups[count])
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
                world.Abort(1)  # otherwise the other ranks would wait forever
    wait_for_all(world)
    everyone = world.gather(results)
    if world.rank == 0:
        found = {name: [each[name] for each in everyone[:count]] for name, (count, _) in PROGRAMS.items()}
        Path(file).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
