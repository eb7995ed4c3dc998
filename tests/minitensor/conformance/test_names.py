"""Test that minitensor has each in-place name of Paddle in the same modules and with the same parameters, or a reason
why the name is left out.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import minitensor as mt
from minitensor.paddle.left_out import LEFT_OUT

ROWS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[3] / "facts" / "inplace-apis.json").read_text(encoding="utf-8")
)["rows"]
SPACES = {"paddle.Tensor": mt.Tensor, "paddle": mt, "paddle.nn.functional": mt.nn.functional}
PRESENT = sorted(set(ROWS) - set(LEFT_OUT))

#: Names that Paddle has only with an underscore, each with an operation of another name that returns a new tensor.
TWINS = {
    "copy_": "clone",
    "fill_": "full_like",
    "requires_grad_": "detach",
    "resize_": "reshape",
    "set_": "as_strided",
    "uniform_": "rand_like",
    "zero_": "zeros_like",
}
#: Operations that exist only in place, as in Paddle: they draw numbers into a tensor, or scale rows of a table.
IN_PLACE_ONLY = {"cauchy_", "embedding_renorm_", "exponential_", "geometric_", "random_"}


def spaces(name: str) -> set[str]:
    """Return the modules and classes in which a version of Paddle has a name."""
    return {*ROWS[name]["2.6.2"], *ROWS[name]["3.3.1"]}


def recorded(name: str, space: str) -> inspect.Signature | None:
    """Return the recorded signature of a name: that of Paddle 3.3.1, otherwise that of 2.6.2, otherwise None. A
    signature with ``**kwargs`` counts as not recorded.
    """
    for version in ("3.3.1", "2.6.2"):
        text = ROWS[name][f"signature_{version}"].get(space, "<none>")
        if text.startswith("(") and "**kwargs" not in text:
            made: dict[str, Any] = {}
            exec(f"def {name}{text}: pass", made)  # the text was recorded from Paddle
            return inspect.signature(made[name])
    return None


def parameters(signature: inspect.Signature) -> list[tuple[Any, ...]]:
    """Return name, kind and default of each parameter. A first parameter ``self`` or ``x`` always counts as equal,
    because methods and functions name it differently.
    """
    found = [(p.name, p.kind.name, p.default) for p in signature.parameters.values()]
    return [("first", None, inspect.Parameter.empty) if p[0] in ("self", "x") else p for p in found[:1]] + found[1:]


def test_every_name_exists_or_is_left_out_with_a_reason():
    assert len(ROWS) == 132 and set(LEFT_OUT) <= set(ROWS)
    missing = [f"{space}.{name}" for name in PRESENT for space in spaces(name) if not hasattr(SPACES[space], name)]
    print(f"\n{len(PRESENT)} of {len(ROWS)} in-place names")
    for name, reason in LEFT_OUT.items():
        print(f"  left out: {name}: {reason}")
    assert not missing


@pytest.mark.parametrize("name", PRESENT)
def test_the_parameters_are_those_of_paddle(name: str):
    compared = 0
    for space in sorted(spaces(name)):
        wanted = recorded(name, space)
        if wanted is None:
            assert name == "copy_", "only copy_ hides its parameters in both versions of Paddle"
            continue
        own = inspect.signature(getattr(SPACES[space], name))
        assert parameters(own) == parameters(wanted), f"{space}.{name}{wanted}"
        compared += 1
    assert compared or name == "copy_"


@pytest.mark.parametrize("name", PRESENT)
def test_every_in_place_operation_has_a_variant_that_returns_a_new_tensor(name: str):
    if name in IN_PLACE_ONLY:
        assert not any(hasattr(space, name[:-1]) for space in SPACES.values())
        return
    twin = TWINS.get(name, name[:-1])
    assert any(callable(getattr(space, twin, None)) for space in SPACES.values()), twin
    assert name not in TWINS or not hasattr(mt.Tensor, name[:-1]), f"{name[:-1]} exists, so {name} needs no entry"


@pytest.mark.parametrize("name", sorted(LEFT_OUT))
def test_an_omitted_name_raises_with_the_reason_and_a_replacement(name: str):
    for owner in (mt.ones([2]), mt.Tensor):
        assert not hasattr(owner, name)
        with pytest.raises(AttributeError) as raised:
            getattr(owner, name)
        assert str(raised.value) == f"Tensor has no {name}: {LEFT_OUT[name]}." and "Use " in LEFT_OUT[name]


def test_an_unknown_name_raises_the_usual_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense_'"):
        mt.ones([2]).nonsense_  # noqa: B018
