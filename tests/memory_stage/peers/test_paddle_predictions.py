"""Compare the stale tensors that the recorder predicts with the errors of backward(), on random programs."""

from __future__ import annotations

import pytest

paddle = pytest.importorskip("paddle", reason="paddle is not installed here")
from tests.support.peers import paddle_predicting  # noqa: E402  # needs Paddle

#: The number of random programs. The module `paddle_predicting` compares more if it is run by hand.
PROGRAMS = 40 if paddle.__version__.startswith("3") else 20

#: Seeds of programs for which the predictions were once wrong: a saved tensor moves to other memory, or a gradient has
#: no memory.
ONCE_WRONG = (30062, 30145, 30288)


@pytest.mark.parametrize("seed", [*range(1000, 1000 + PROGRAMS), *ONCE_WRONG])
def test_backward_raises_for_predicted_stale_tensors(seed):
    found = paddle_predicting.judged(seed)
    if found == "crashed":
        assert paddle.__version__.startswith("2.6")
        pytest.skip("this program crashes Paddle, watched or not")
    for name, expected, reported in found:
        assert paddle_predicting.is_right(expected, reported), (name, expected, reported)
