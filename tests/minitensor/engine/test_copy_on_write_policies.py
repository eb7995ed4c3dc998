"""Test that the policy at the time of a write decides whether saved bytes are preserved or become stale."""

from __future__ import annotations

import itertools
import re
import sys

import pytest

import minitensor as mt
from minitensor.engine.modes import POLICIES
from tests.support.engine.memory import allocated, four, gradient

UNHARMED = "None of the saved bytes were overwritten"


def line() -> int:
    """Return the line number of the call."""
    return sys._getframe(1).f_lineno


# ---------- values saved under one policy and overwritten under another ----------


@pytest.mark.parametrize(("save", "write"), list(itertools.product(POLICIES, POLICIES)))
def test_the_policy_of_the_write_and_not_of_the_save_decides_if_values_are_preserved(save: str, write: str):
    with mt.set_inplace_policy(save):
        w, x = four()
        result = x * x
    with mt.set_inplace_policy(write):
        x[1:3] = 7.0
    with mt.set_inplace_policy(save):
        if write == "copy_on_write":
            assert gradient(result, w) == [2, 4, 6, 8]
            return
        with pytest.raises(RuntimeError, match="overwritten: by setitem, which made version 1") as raised:
            gradient(result, w)
        assert UNHARMED not in str(raised.value)


@pytest.mark.parametrize(("save", "write"), list(itertools.product(POLICIES, POLICIES)))
def test_the_error_after_a_write_beside_saved_cells_says_that_no_saved_bytes_were_overwritten(save: str, write: str):
    with mt.set_inplace_policy(save):
        w, x = four()
        half = x[:2]
        result = half * half
    with mt.set_inplace_policy(write):
        x[2:] = 7.0
    if write == "copy_on_write":
        assert gradient(result, w) == [2, 4, 0, 0]
        return
    with pytest.raises(RuntimeError, match=UNHARMED) as raised:
        gradient(result, w)
    assert "by setitem, which made version 1" in str(raised.value)
    assert 'set_inplace_policy("copy_on_write")' in str(raised.value)


def test_after_three_writes_under_any_policies_backward_is_right_or_reports_the_first_loss():
    """Try all chains of three writes under any policies. The front half of the tensor is saved, and the back half is
    not. Each write overwrites the front half, the back half or both.
    """
    parts = {"front": slice(0, 2), "back": slice(2, 4), "all": slice(0, 4)}
    steps = list(itertools.product(POLICIES, parts))
    for chain in itertools.product(steps, repeat=3):
        w, x = four()
        half = x[:2]
        result = half * half
        for policy, part in chain:
            with mt.set_inplace_policy(policy), mt.no_grad():
                x[parts[part]] = 7.0
        careless = next((i for i, (policy, _) in enumerate(chain) if policy != "copy_on_write"), None)
        before = chain[:careless]
        try:
            found = gradient(result, w)
        except RuntimeError as error:
            assert careless is not None, chain
            assert all(part == "back" for _, part in before), f"{chain}: backward raised"
            lost = any(part != "back" for _, part in chain[careless:])
            assert (UNHARMED in str(error)) != lost, chain
            if lost:
                by = next(i for i, (_, part) in enumerate(chain) if i >= careless and part != "back")
                assert f"which made version {by + 1} " in str(error), chain
        else:
            assert found == [2, 4, 0, 0], chain
            assert careless is None or any(part != "back" for _, part in before), f"{chain}: backward did not raise"


def test_a_partly_preserved_tensor_is_stale_after_a_write_that_preserves_nothing():
    w, x = four()
    result = x * x
    with mt.set_inplace_policy("copy_on_write"):
        x[0] = 7.0
    before = allocated()
    x[3] = 7.0
    assert allocated() == before - 8  # the preserved bytes are no longer needed
    with mt.set_inplace_policy("copy_on_write"):
        x[1] = 7.0
    assert allocated() == before - 8
    with pytest.raises(RuntimeError, match="overwritten: by setitem, which made version 2"):
        gradient(result, w)


def test_a_tensor_whose_bytes_are_all_preserved_stays_valid_after_any_later_write():
    w, x = four()
    column = x.reshape([2, 2])[:, 0]
    result = column * column
    with mt.set_inplace_policy("copy_on_write"):
        x.fill_(7.0)
    x.fill_(8.0)
    with mt.set_inplace_policy("2.5"):
        x[0] = 9.0
    assert gradient(result, w) == [2, 0, 6, 0]


def test_the_write_that_overwrote_the_bytes_is_named_after_thousands_of_other_writes():
    w, x = four()
    half = x[:2]
    result = half * half
    x[1] = 7.0
    number = line() - 1
    other = mt.zeros([1])
    for _ in range(3000):
        other.add_(1.0)
        x[3] = 1.0
    with pytest.raises(RuntimeError) as raised:
        gradient(result, w)
    text = str(raised.value)
    assert re.search(
        rf"by setitem, which made version 1 \({re.escape(__file__.rsplit('/', 1)[1])}, line {number}:", text
    )
    assert "tensor_version:3001 != wrapper_version_snapshot:0" in text


@pytest.mark.parametrize("policy", ["2.5", "2.6"])
def test_the_error_after_an_indexed_write_beside_saved_cells_says_that_none_were_overwritten(policy: str):
    w, x = four()
    result = x[::2] * x[::2]
    with mt.set_inplace_policy(policy):
        x[[1, 3]] = 7.0
        with pytest.raises(RuntimeError, match=UNHARMED):
            gradient(result, w)
        x[[1, 2]] = 7.0
    with pytest.raises(RuntimeError, match="overwritten: by setitem, which made version 2"):
        gradient(result, w)


@pytest.mark.parametrize("careful", [0, 1, 2])
def test_an_error_names_the_write_that_preserved_nothing(careful):
    """The error names the write under "2.6" and its version, not the earlier writes under "copy_on_write"."""
    b = mt.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=False) * 1.0
    y = b[0:2] * mt.to_tensor([2.0, 3.0], stop_gradient=False)
    with mt.set_inplace_policy("copy_on_write"):
        for _ in range(careful):
            b[2:3].add_(mt.ones([1]))
    b[3:4].multiply_(mt.ones([1]))
    with pytest.raises(RuntimeError, match=rf"by multiply_, which made version {careful + 1} "):
        y.sum().backward()
