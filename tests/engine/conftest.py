"""What the engine's tests share: every test begins with the default modes, and some without the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import minitensor as mt
from tests.engine.memory import allocated

#: Every test of the engine runs on each of them, but for those that are about one device and have the mark
#: ``cpu_only``. A CUDA device takes part where one answers.
DEVICES = ("cpu", "gpu:sim", "gpu:0")[: 2 + (mt.device.cuda.device_count() > 0)]


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test once for each device, the name of which ends its id; the computer's own memory is not named."""
    devices = DEVICES[:1] if metafunc.definition.get_closest_marker("cpu_only") else DEVICES
    ids = [pytest.HIDDEN_PARAM if device == "cpu" else device for device in devices]
    metafunc.parametrize("device", devices, ids=ids, indirect=True)


@pytest.fixture(autouse=True)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """The device on which the test's tensors are made."""
    mt.set_device(request.param)
    yield request.param
    mt.set_device("cpu")


@pytest.fixture(autouse=True)
def default_modes() -> Iterator[None]:
    """A test that fails inside `no_grad` or under another policy must not spoil the next one."""
    mt.set_inplace_policy("2.6")
    mt.seed(0)
    yield
    gc.enable()
    assert mt.is_grad_enabled(), "a test left grad mode off"
    mt.set_inplace_policy("2.6")


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Inside, memory comes back by reference counting or not at all."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def base(no_collector: None) -> int:
    """The bytes that were allocated before the test; afterwards memory comes back by reference counting only."""
    return allocated()
