"""Fixtures for tests of the engine: default modes for every test, and no garbage collector for some."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import minitensor as mt
from tests.support.engine.memory import allocated

#: Every test of the engine runs on each of these devices, except tests with the mark ``cpu_only``. A CUDA device is
#: included if there is one.
DEVICES = ("cpu", "gpu:sim", "gpu:0")[: 2 + (mt.device.cuda.device_count() > 0)]


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test once for each device. A test's id ends with the name of the device, except on the host."""
    devices = DEVICES[:1] if metafunc.definition.get_closest_marker("cpu_only") else DEVICES
    ids = [pytest.HIDDEN_PARAM if device == "cpu" else device for device in devices]
    metafunc.parametrize("device", devices, ids=ids, indirect=True)


@pytest.fixture(autouse=True)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the device on which the test's tensors are made."""
    mt.set_device(request.param)
    yield request.param
    mt.set_device("cpu")


@pytest.fixture(autouse=True)
def default_modes() -> Iterator[None]:
    """Set the default modes before and after a test, so that no test changes the modes of the next one."""
    mt.set_inplace_policy("2.6")
    mt.seed(0)
    yield
    gc.enable()
    assert mt.is_grad_enabled(), "a test must turn grad mode on again"
    mt.set_inplace_policy("2.6")


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Turn off the garbage collector, so that only reference counting frees memory."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def base(no_collector: None) -> int:
    """Return the bytes allocated before the test, which runs without the garbage collector."""
    return allocated()
