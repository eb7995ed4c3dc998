"""Every operation does what Paddle 2.6.2, Paddle 3.3.1 and PyTorch 2.13.0 were recorded to do.

The recordings and how they were made are in facts/goldens. Where minitensor differs on purpose, ``DELIBERATE`` says so
and why; an entry that no longer makes a difference fails, too.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import minitensor as mt

GOLDENS = Path(__file__).parents[2] / "facts" / "goldens"
FRAMEWORKS = ("paddle-2.6.2", "paddle-3.3.1", "torch-2.13.0")
RECORDED = {framework: json.loads((GOLDENS / f"{framework}.json").read_text()) for framework in FRAMEWORKS}
ELEMENTS = 1 << 18  # of the tensor with which held bytes are measured: 1 MiB, so that a node is nothing beside it

SHAPE_ONLY = {"t_", "transpose_", "reshape_", "flatten_", "squeeze_", "unsqueeze_"}


# ---- differences on purpose ------------------------------------------------------------------------------------------

PADDLES = ("paddle-2.6.2", "paddle-3.3.1")
METADATA = "an operation that changes metadata only writes nothing: the version stays and nothing becomes stale"
DIVIDE = "dividing by a constant does not save the result"
ROUND = "round goes half away from zero, as in Paddle 2.6.2"

# (frameworks, operations, what is seen): why
DELIBERATE = {
    (FRAMEWORKS, tuple(sorted(SHAPE_ONLY)), "no_grad_tensor.version_after"): METADATA,
    (FRAMEWORKS, tuple(sorted(SHAPE_ONLY)), "leaf_under_no_grad.version_after"): METADATA,
    (FRAMEWORKS, tuple(sorted(SHAPE_ONLY)), "nonleaf.version_after"): METADATA,
    (FRAMEWORKS, tuple(sorted(SHAPE_ONLY)), "saved_by_earlier_mul.ok"): METADATA,
    (PADDLES, ("divide_",), "then_add_one_in_place.ok"): DIVIDE,
    (("paddle-3.3.1", "torch-2.13.0"), ("round_",), "no_grad_tensor.value"): ROUND,
    (("paddle-3.3.1", "torch-2.13.0"), ("round_",), "out_of_place.value"): ROUND,
}


def on_purpose(framework: str, name: str, seen: str) -> str | None:
    """The reason for a difference that is meant."""
    for (frameworks, names, what), reason in DELIBERATE.items():
        if framework in frameworks and name in names and seen == what:
            return reason
    return None


# ---- running a case --------------------------------------------------------------------------------------------------


def array(framework: str, name: str, dtype: str) -> np.ndarray:
    numbers = RECORDED[framework]["arrays"][name]
    return np.vectorize(float, otypes=[dtype])(np.array(numbers, object))


def argument(framework: str, kind: str, value, dtype: str, rows: int | None = None):
    if kind == "t":
        return mt.to_tensor(repeated(array(framework, value, dtype), rows))
    if kind == "b":
        return mt.to_tensor(array(framework, value, dtype) > 0)
    if kind in ("i", "i2"):
        return mt.to_tensor(value, dtype="int64")
    if kind == "it":
        return tuple(mt.to_tensor(part, dtype="int64") for part in value)
    return value


def repeated(numbers: np.ndarray, rows: int | None) -> np.ndarray:
    """The same rows again and again until there are ``rows`` of them; a single row is broadcast and stays as it is."""
    return numbers if rows is None or numbers.ndim < 2 else np.resize(numbers, (rows, *numbers.shape[1:]))


class Case:
    """One recorded case, and how to run it here."""

    def __init__(self, framework: str, recorded: dict):
        self.framework, self.recorded = framework, recorded
        self.name, self.dtype = recorded["name"], recorded["dtype"]

    @property
    def exists(self) -> bool:
        return hasattr(mt.nn.functional if self.recorded["called_on"] == "F" else mt.Tensor, self.name)

    def input(self, stop_gradient: bool = True):
        data = array(self.framework, self.recorded["input"], self.dtype)
        return mt.to_tensor(data, stop_gradient=stop_gradient)

    def arguments(self, rows: int | None = None) -> list:
        return [argument(self.framework, *arg, self.dtype, rows) for arg in self.recorded["args"]]

    def apply(self, x, in_place: bool = True, args: list | None = None):
        name = self.name if in_place else self.name[:-1]
        args = self.arguments() if args is None else args
        if self.recorded["called_on"] == "F":
            return getattr(mt.nn.functional, name)(x, *args, **self.recorded["kwargs"])
        return getattr(x, name)(*args, **self.recorded["kwargs"])

    def observe(self) -> dict:
        """What the recording holds, seen here."""
        seen = {"no_grad_tensor": self.no_grad_tensor()}
        if "out_of_place" in self.recorded and hasattr(mt.Tensor, self.name[:-1]):
            seen["out_of_place"] = self.out_of_place()
        if "nonleaf" in self.recorded:
            seen["leaf_requiring_grad"] = self.leaf()
            seen["leaf_under_no_grad"] = self.leaf_under_no_grad()
            seen["nonleaf"] = self.nonleaf()
            seen["then_add_one_in_place"] = self.then_add_one()
            seen["saved_by_earlier_mul"] = self.saved_by_earlier_mul()
        if "out_of_place" in seen and "nonleaf" in seen:
            seen["out_of_place_grad"] = self.out_of_place_grad()
        return seen

    def watched(self, x) -> dict:
        """Run in place, and say what happened to the tensor."""
        address, before = x.data_ptr(), x.inplace_version
        result = self.apply(x)
        return {
            "result_is_x": result is x,
            "ptr_unchanged": x.data_ptr() == address,
            "version_before": before,
            "version_after": x.inplace_version,
            "dtype_after": x.dtype.name,
        }

    def no_grad_tensor(self) -> dict:
        x = self.input()
        return self.watched(x) | {"shape_after": x.shape, "value": x.numpy()}

    def out_of_place(self) -> dict:
        x = self.input()
        result = self.apply(x, in_place=False)
        untouched = (x.numpy() == self.input().numpy()).all() and x.inplace_version == 0
        return {"value": result.numpy(), "dtype": result.dtype.name, "x_untouched": bool(untouched)}

    def leaf(self) -> dict:
        x = self.input(stop_gradient=False)
        before = x.numpy(), x.shape, x.strides
        try:
            self.apply(x)
        except Exception as error:
            unchanged = (x.numpy() == before[0]).all() and (x.shape, x.strides) == before[1:]
            assert unchanged and x.inplace_version == 0, "the refused operation left a trace"
            return {"allowed": False, "type": type(error).__name__}
        return {"allowed": True}

    def leaf_under_no_grad(self) -> dict:
        x = self.input(stop_gradient=False)
        with mt.no_grad():
            self.apply(x)
        return {"allowed": True, "version_after": x.inplace_version, "still_requires_grad": not x.stop_gradient}

    def nonleaf(self) -> dict:
        x = self.input(stop_gradient=False)
        h = x * 1.0
        seen = self.watched(h) | {"tracks_grad_after": not h.stop_gradient}
        h.sum().backward()
        return seen | {"grad_of_sum_wrt_x": x.grad.numpy()}

    def out_of_place_grad(self) -> dict:
        x = self.input(stop_gradient=False)
        self.apply(x, in_place=False).sum().backward()
        return {"grad_of_sum_wrt_x": x.grad.numpy()}

    def then_add_one(self) -> dict:
        x = self.input(stop_gradient=False)
        h = x * 1.0
        self.apply(h)
        h.add_(mt.ones(h.shape, dtype=self.dtype))
        return {"ok": succeeds(h)}

    def saved_by_earlier_mul(self) -> dict:
        x = self.input(stop_gradient=False)
        h = x * 1.0
        q = h * h
        self.apply(h)
        return {"ok": succeeds(q)}

    def copies_held(self) -> float:
        """Bytes held after the operation on a big non-leaf, in units of that tensor."""
        data = self.input().numpy()
        rows = ELEMENTS // data.shape[-1]
        x = mt.to_tensor(repeated(data, rows), stop_gradient=False)
        h = x * 1.0
        args = self.arguments(rows)
        before = mt.device.cpu.memory_allocated()
        self.apply(h, args=args)
        return (mt.device.cpu.memory_allocated() - before) / h.nbytes


def succeeds(y) -> bool:
    try:
        y.sum().backward()
    except RuntimeError:
        return False
    return True


# ---- comparing -------------------------------------------------------------------------------------------------------


def differences(case: Case) -> dict[str, str]:
    """{what is seen: recorded and seen}, for everything in which minitensor differs from the recording."""
    found = {}
    for situation, seen in case.observe().items():
        recorded = case.recorded.get(situation, {})
        for what, actual in seen.items():
            expected = recorded.get(what)
            comparable = what in recorded and expected is not None
            if what == "type" and not case.framework.startswith("paddle"):
                comparable = False  # PyTorch raises RuntimeError for a leaf; the vocabulary here is Paddle's
            if comparable and not equal(expected, actual):
                found[f"{situation}.{what}"] = f"recorded {expected}, here {actual}"
    return found


def equal(expected, actual) -> bool:
    if not isinstance(actual, np.ndarray):
        return expected == actual
    expected = np.vectorize(float)(np.array(expected, object))
    return expected.shape == actual.shape and np.allclose(expected, actual, rtol=1e-5, atol=1e-6, equal_nan=True)


def has_facts(recorded: dict) -> bool:
    """Whether the framework has the operation, and it ran. (``square_`` of Paddle 2.6.2 raises AttributeError.)"""
    absent = recorded.get("missing") or recorded.get("crash") or "error" in recorded.get("no_grad_tensor", {})
    return not absent and recorded["kind"] != "random"


CASES = [Case(f, recorded) for f in FRAMEWORKS for recorded in RECORDED[f]["cases"] if has_facts(recorded)]
EXISTING = [case for case in CASES if case.exists]


@pytest.mark.parametrize("case", EXISTING, ids=lambda c: f"{c.framework}-{c.name}-{c.recorded['kind']}")
def test_an_operation_does_what_was_recorded(case):
    unexpected = {
        seen: text for seen, text in differences(case).items() if on_purpose(case.framework, case.name, seen) is None
    }
    assert not unexpected


def test_every_deliberate_difference_is_one():
    differing = {(c.framework, c.name, seen) for c in EXISTING for seen in differences(c)}
    existing = {(c.framework, c.name) for c in EXISTING}
    for (frameworks, names, seen), reason in DELIBERATE.items():
        for framework, name in existing:
            if framework in frameworks and name in names:
                assert (framework, name, seen) in differing, f"{framework} {name} {seen}: {reason}"


HELD = [
    c for c in EXISTING if (c.recorded.get("extra_memory_held_for_backward") or {}).get("copies_of_x_held") is not None
]


@pytest.mark.parametrize("case", HELD, ids=lambda c: f"{c.framework}-{c.name}-{c.recorded['kind']}")
def test_an_in_place_operation_holds_no_more_than_paddles(case):
    assert case.copies_held() <= case.recorded["extra_memory_held_for_backward"]["copies_of_x_held"] + 0.01


def test_the_comparison_notices_a_difference():
    case = next(c for c in EXISTING if c.name == "sin_")
    changed = json.loads(json.dumps(case.recorded))
    changed["nonleaf"]["grad_of_sum_wrt_x"][0][0] += 0.01
    changed["no_grad_tensor"]["version_after"] = 2
    changed["leaf_requiring_grad"]["allowed"] = True
    found = differences(Case(case.framework, changed))
    assert set(found) == {
        "nonleaf.grad_of_sum_wrt_x",
        "no_grad_tensor.version_after",
        "leaf_requiring_grad.allowed",
    }


def test_enough_operations_are_compared():
    absent = sorted({case.name for case in CASES if not case.exists})
    print(f"{len(EXISTING)} of {len(CASES)} recorded cases compared; not there yet: {', '.join(absent) or 'none'}")
    assert len({case.name for case in EXISTING}) >= 25
    assert len(EXISTING) >= 100
