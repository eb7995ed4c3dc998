"""Test that recording a Paddle program changes nothing and leaves nothing behind."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable

import pytest

import memory_stage as stage
from tests.support.peers.paddle_programs import program

paddle = pytest.importorskip("paddle", reason="paddle is not installed here")
from tests.support.peers import paddle_undisturbed  # noqa: E402  # needs Paddle

#: The number of random programs. The module `paddle_undisturbed` compares more if it is run by hand.
PROGRAMS = 40 if paddle.__version__.startswith("3") else 20


def attributes() -> dict[tuple[str, str], object]:
    """Return every attribute of Paddle's modules and of its classes of tensors, layers and optimizers."""
    owners = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "paddle"}
    classes = [paddle.Tensor, paddle.nn.Layer, *(c for c in vars(paddle.optimizer).values() if isinstance(c, type))]
    owners |= {each.__name__: each for each in classes}
    owners["eager"] = paddle.base.core.eager
    found = {(name, key): value for name, owner in owners.items() for key, value in list(vars(owner).items())}
    return {place: value for place, value in found.items() if place[1] != "__warningregistry__"}


def changed_attributes(before: dict, after: dict) -> list:
    return [place for place in before.keys() | after.keys() if before.get(place) is not after.get(place)]


def test_recording_a_program_of_minitensor_does_not_import_paddle():
    code = (
        "import sys, minitensor as mt; import memory_stage as stage\n"
        "stage.record('x = mt.ones([2])', {'mt': mt}); sys.exit('paddle' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("source", ["x = paddle.ones([2])\ny = x * x", "x = paddle.ones([2])\nx.reshape([3])"])
def test_every_function_of_paddle_is_restored_after_a_recording(source):
    stage.record("x = paddle.ones([1])", {"paddle": paddle})  # Paddle imports some modules only now
    before = attributes()
    stage.record(source, {"paddle": paddle})
    assert changed_attributes(before, attributes()) == []


def test_every_function_of_paddle_is_restored_after_an_interrupt():
    before = attributes()
    with pytest.raises(KeyboardInterrupt):
        stage.record("x = paddle.ones([2])\nraise KeyboardInterrupt", {"paddle": paddle})
    assert changed_attributes(before, attributes()) == []


def test_every_function_of_paddle_is_restored_after_an_interrupt_of_the_patching(monkeypatch):
    from memory_stage.engines.paddle import monkeypatches

    before, made = attributes(), []
    plain = monkeypatches._wrapper

    def interrupted(*arguments):
        made.append(arguments)
        if len(made) == 300:
            raise KeyboardInterrupt
        return plain(*arguments)

    monkeypatch.setattr(monkeypatches, "_wrapper", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stage.record("x = paddle.ones([2])", {"paddle": paddle})
    assert changed_attributes(before, attributes()) == []


def test_functions_are_patched_during_a_recording():
    """Without this test, a recorder that patches nothing would pass the tests of the restored functions."""
    names = {"paddle": paddle, "attributes": attributes, "ignored": [], "before": attributes()}
    stage.record("ignored.append(attributes())", names)
    wrapped = {place[1] for place in changed_attributes(names["before"], names["ignored"][0])}
    assert {"add", "multiply_", "__add__", "run_backward", "matmul", "to_tensor", "step"} <= wrapped


# ---------- random programs ----------


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_a_random_program_runs_as_without_a_recorder(seed):
    plain, seen = paddle_undisturbed.both(seed)
    assert seen == plain
    assert isinstance(plain, list) or (plain == "crashed" and paddle.__version__.startswith("2.6"))


def bytes_not_freed(run: Callable[[], object]) -> int:
    """Return the bytes that are still allocated after a run and a garbage collection."""
    gc.collect()  # cycles of earlier tests
    before = paddle.base.core.host_memory_stat_current_value("Allocated", 0)
    run()
    gc.collect()
    return paddle.base.core.host_memory_stat_current_value("Allocated", 0) - before


def read_a_node() -> None:
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    (x * x).grad_fn.name()


@pytest.mark.parametrize("source", [program(3), "x = paddle.ones([3])\ny = x[1:]\ny.add_(paddle.ones([2]))"])
def test_bytes_are_freed_at_the_end_of_the_program(source):
    def record() -> None:
        names = {"paddle": paddle, "errors": []}
        stage.record(source, names)
        names.clear()

    bytes_not_freed(record)  # Paddle keeps some memory that it allocates when it is first used
    if "stop_gradient" in source and bytes_not_freed(read_a_node):
        pytest.skip(
            "after a program reads `grad_fn`, this version of Paddle never frees the node and its saved tensors"
        )
    assert bytes_not_freed(record) == 0
