"""What the engine's tests share: every test begins with the default modes, and some without the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import minitensor as mt
from tests.engine.memory import allocated


@pytest.fixture(autouse=True)
def default_modes() -> Iterator[None]:
    """A test that fails inside `no_grad` or under another policy must not spoil the next one."""
    mt.set_inplace_policy("2.6")
    mt.seed(0)
    yield
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
import os, minitensor as mt
if os.environ.get("MINITENSOR_DEVICE"): mt.set_device(os.environ["MINITENSOR_DEVICE"])
