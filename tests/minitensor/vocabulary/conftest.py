"""Fixtures: the default modes and a seed for every test, and the devices that a test runs on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import minitensor as paddle


@pytest.fixture(autouse=True)
def defaults() -> Iterator[None]:
    paddle.set_inplace_policy("2.6")
    paddle.seed(0)
    yield
    assert paddle.is_grad_enabled(), "a test left grad mode off"
    paddle.set_inplace_policy("2.6")


@pytest.fixture(params=["cpu", "gpu:sim"])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test twice, with new tensors on the host and on a simulated GPU, and yield the name of the device."""
    before = paddle.get_device()
    paddle.set_device(request.param)
    yield request.param
    paddle.set_device(before)


@pytest.fixture
def gpu() -> Iterator[None]:
    """Create new tensors on a simulated GPU whose allocator rounds sizes as Paddle's does."""
    before = paddle.get_device()
    paddle.set_device("gpu:sim", capacity="2 GiB", profile="paddle")
    yield
    paddle.set_device(before)
