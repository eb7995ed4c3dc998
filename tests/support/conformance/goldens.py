"""Run the cases that facts/goldens recorded, and compare the observations with the record.

A case runs in every recorded situation. The observations have the form of the record (see facts/goldens/README.md), so
the comparison of two dictionaries covers every recorded fact.
"""

from __future__ import annotations

import json
import re
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import minitensor as mt
from minitensor.paddle.left_out import LEFT_OUT

FACTS = Path(__file__).parents[3] / "facts"
FRAMEWORKS = ("paddle-2.6.2", "paddle-3.3.1", "torch-2.13.0")
RECORDED = {framework: json.loads((FACTS / "goldens" / f"{framework}.json").read_text()) for framework in FRAMEWORKS}
ELEMENTS = 1 << 18  # the elements of the tensor in `copies_held`: 1 MiB, beside which a node's bytes are negligible

SPACES = {"paddle": mt, "paddle.Tensor": mt.Tensor, "paddle.nn.functional": mt.nn.functional}
#: The keys of the record that describe how a case was run and are no observations.
GIVEN = {"name", "framework_name", "kind", "called_on", "input", "dtype", "args", "kwargs"}


def array(framework: str, name: str, dtype: str) -> np.ndarray:
    numbers = RECORDED[framework]["arrays"][name]
    return np.vectorize(float, otypes=[dtype])(np.array(numbers, object))


def repeated(numbers: np.ndarray, rows: int | None) -> np.ndarray:
    """Repeat the rows until there are ``rows`` of them. If ``rows`` is None or there is only one row, which will be
    broadcast, return ``numbers`` unchanged.
    """
    return numbers if rows is None or numbers.ndim < 2 else np.resize(numbers, (rows, *numbers.shape[1:]))


class Case:
    """One recorded case, which can run in minitensor."""

    def __init__(self, framework: str, recorded: dict[str, Any]):
        self.framework, self.recorded = framework, recorded
        self.name, self.kind, self.dtype = recorded["name"], recorded["kind"], recorded["dtype"]

    def __str__(self) -> str:
        arguments = "-".join(str(value) for kind, value in self.recorded["args"] if kind == "s")
        return f"{self.framework}-{self.name}-{self.kind}" + (f"-{arguments}" if arguments else "")

    @property
    def ran(self) -> bool:
        """True if the framework has the operation and did not crash in the case."""
        return not (self.recorded.get("missing") or self.recorded.get("crash"))

    @property
    def left_out(self) -> bool:
        return self.name in LEFT_OUT

    # ---- running a case ----

    def input(self, stop_gradient: bool = True) -> mt.Tensor:
        data = array(self.framework, self.recorded["input"], self.dtype)
        return mt.to_tensor(data, stop_gradient=stop_gradient)

    def argument(self, kind: str, value: Any, rows: int | None = None) -> Any:
        if kind == "t":
            return mt.to_tensor(repeated(array(self.framework, value, self.dtype), rows))
        if kind == "b":
            return mt.to_tensor(repeated(array(self.framework, value, self.dtype), rows) > 0)
        if kind in ("i", "i2"):
            return mt.to_tensor(value, dtype="int64")
        if kind == "it":
            return tuple(mt.to_tensor(part, dtype="int64") for part in value)
        return value

    def arguments(self, rows: int | None = None) -> list[Any]:
        return [self.argument(*arg, rows) for arg in self.recorded["args"]]

    def apply(self, x: mt.Tensor, in_place: bool = True, args: list[Any] | None = None) -> mt.Tensor:
        name = self.name if in_place else self.name[:-1]
        args = self.arguments() if args is None else args
        if self.name == "where_":  # the target is the second argument; the recorded condition is the array "ties" > 0
            return getattr(mt, name)(self.argument("b", "ties"), x, *args)
        if self.recorded["called_on"] == "F":
            return getattr(mt.nn.functional, name)(x, *args, **self.recorded["kwargs"])
        return getattr(x, name)(*args, **self.recorded["kwargs"])

    # ---- observations ----

    @cached_property
    def seen(self) -> dict[str, dict[str, Any]]:
        """Return the observations of the case in minitensor, in the form of the record."""
        situations = self.recorded.keys() - GIVEN - {"exists_in", "extra_memory_held_for_backward"}
        return {situation: getattr(self, situation)() for situation in situations} | self.places()

    def places(self) -> dict[str, dict[str, Any]]:
        """Map ``exists_in`` to the recorded namespaces that have the operation in minitensor; {} for PyTorch."""
        if not self.framework.startswith("paddle"):
            return {}
        return {"exists_in": [place for place in self.recorded["exists_in"] if hasattr(SPACES[place], self.name)]}

    def watched(self, x: mt.Tensor) -> dict[str, Any]:
        """Run the in-place operation, and return the observed changes of the tensor."""
        address, before = x.data_ptr(), x.inplace_version
        result = self.apply(x)
        return {
            "result_is_x": result is x,
            "ptr_unchanged": x.data_ptr() == address,
            "version_before": before,
            "version_after": x.inplace_version,
            "dtype_after": x.dtype.name,
        }

    def no_grad_tensor(self) -> dict[str, Any]:
        x = self.input()
        found = self.watched(x) | {"shape_after": x.shape}
        return found if self.kind == "random" else found | {"value": x.numpy()}

    def out_of_place(self) -> dict[str, Any]:
        x = self.input()
        result = self.apply(x, in_place=False)
        untouched = np.array_equal(x.numpy(), self.input().numpy(), equal_nan=True) and x.inplace_version == 0
        return {"value": result.numpy(), "dtype": result.dtype.name, "x_untouched": untouched}

    def leaf_requiring_grad(self) -> dict[str, Any]:
        x = self.input(stop_gradient=False)
        before = x.numpy(), x.shape, x.strides
        try:
            self.apply(x)
        except Exception as error:
            assert (x.shape, x.strides) == before[1:], "a refused operation should change neither shape nor strides"
            found = refused(error) | {"allowed": False}
        else:
            found = {"allowed": True}
        changed = not np.array_equal(x.numpy(), before[0], equal_nan=True)
        return found | {"version_after": x.inplace_version, "data_changed": changed, "dtype_after": x.dtype.name}

    def leaf_under_no_grad(self) -> dict[str, Any]:
        x = self.input(stop_gradient=False)
        with mt.no_grad():
            self.apply(x)
        return {"allowed": True, "version_after": x.inplace_version, "still_requires_grad": not x.stop_gradient}

    def nonleaf(self) -> dict[str, Any]:
        x = self.input(stop_gradient=False)
        h = x * 1.0
        return self.watched(h) | {"tracks_grad_after": not h.stop_gradient} | gradient(h, x)

    def out_of_place_grad(self) -> dict[str, Any]:
        x = self.input(stop_gradient=False)
        result = self.apply(x, in_place=False)
        return {"tracks_grad": not result.stop_gradient} | gradient(result, x)

    def then_add_one_in_place(self) -> dict[str, Any]:
        x = self.input(stop_gradient=False)
        h = x * 1.0
        self.apply(h)
        h.add_(mt.ones(h.shape, dtype=self.dtype))
        return noticed(gradient(h, x))

    def saved_by_earlier_mul(self) -> dict[str, Any]:
        x = self.input(stop_gradient=False)
        h = x * 1.0
        q = h * h
        self.apply(h)
        return noticed(gradient(q, x))

    def copies_held(self) -> float:
        """Return the bytes that the operation on a big non-leaf keeps, as a multiple of the bytes of that tensor."""
        data = self.input().numpy()
        rows = ELEMENTS // data[0].size
        x = mt.to_tensor(repeated(data, rows), stop_gradient=False)
        h = x * 1.0
        args = self.arguments(rows)
        before = mt.device.cpu.memory_allocated()
        self.apply(h, args=args)
        return (mt.device.cpu.memory_allocated() - before) / h.nbytes


def refused(error: Exception) -> dict[str, Any]:
    # Paddle's recorded message is one line. minitensor's whole message, which may have several, is compared with it.
    return {"type": type(error).__name__, "first_line": str(error)}


def gradient(y: mt.Tensor, x: mt.Tensor) -> dict[str, Any]:
    try:
        y.sum().backward()
    except Exception as error:
        return {"backward_error": refused(error)}
    return {"grad_of_sum_wrt_x": None if x.grad is None else x.grad.numpy()}


def noticed(found: dict[str, Any]) -> dict[str, Any]:
    """Return the gradient or the error of backward, and ``ok``, which is True if backward raised no error."""
    return found.get("backward_error", found) | {"ok": "backward_error" not in found}


# ---- comparing -------------------------------------------------------------------------------------------------------

#: If two runs differ in one of these facts, all their other differences follow from it.
DECIDING = ("error", "allowed", "ok", "tracks_grad", "backward_error")
#: Facts that the record names differently, with the names used here.
SAME = {"grad": "grad_of_sum_wrt_x"}
VERSIONS = re.compile(
    r"(?:version is|tensor_version:|at version) ?(\d+).*?(?:expected version(?: is)?|snapshot:) ?(\d+)"
)
LEAF = re.compile(r"Leaf Var \(.*?\) that doesn't stop gradient can't use inplace strategy\.")


def compared(case: Case) -> dict[str, tuple[Any, Any]]:
    """Return ``{"situation.what": (recorded, seen here)}`` for all compared facts."""
    pairs = {}
    for situation, seen in case.seen.items():
        recorded = case.recorded[situation]
        if situation == "exists_in":
            pairs[situation] = recorded, seen
        else:
            pairs |= {what: (old, new) for what, old, new in facts(f"{situation}.", recorded, seen)}
    return pairs


def differences(case: Case) -> dict[str, str]:
    """Return ``{"situation.what": "recorded this, here that"}`` for all facts that differ from the record."""
    return {what: f"recorded {old}, here {new}" for what, (old, new) in compared(case).items() if not equal(old, new)}


def facts(prefix: str, recorded: dict[str, Any], seen: dict[str, Any]):
    """Yield triples of a name, the recorded fact and the observation here."""
    recorded, seen = ({SAME.get(what, what): value for what, value in each.items()} for each in (recorded, seen))
    for what in DECIDING:
        if (what in recorded) != (what in seen) or (
            isinstance(recorded.get(what), bool) and recorded[what] != seen[what]
        ):
            yield prefix + what, recorded.get(what, "none"), seen.get(what, "none")
            if what != "backward_error":  # the refusal is the last observation, so the earlier ones are still compared
                return
            for each in (recorded, seen):
                each.pop("grad_of_sum_wrt_x", None)
                each.pop("backward_error", None)
    for what in recorded.keys() | seen.keys():
        old, new = recorded.get(what, "none"), seen.get(what, "none")
        if what == "first_line":
            yield from same_words(prefix, old, new)
        elif what == "backward_error":
            yield prefix + "backward_error.type", old["type"], new["type"]
        else:
            yield prefix + what, old, new


def same_words(prefix: str, recorded: str, seen: str):
    """Yield the facts that two differently worded errors must share: the mention of a leaf, or the versions."""
    if LEAF.search(recorded):
        yield prefix + "first_line", "Leaf Var", "Leaf Var" if LEAF.search(seen) else seen
    if found := VERSIONS.search(recorded):
        here = VERSIONS.search(seen)
        yield prefix + "versions", found.groups(), here and here.groups()


def equal(expected: Any, actual: Any) -> bool:
    if not isinstance(actual, np.ndarray):
        return expected == actual
    if not isinstance(expected, list):
        return False
    expected = np.vectorize(float)(np.array(expected, object))
    return expected.shape == actual.shape and np.allclose(expected, actual, rtol=1e-5, atol=1e-6, equal_nan=True)


ALL = [Case(framework, recorded) for framework in FRAMEWORKS for recorded in RECORDED[framework]["cases"]]
#: The cases that both the framework and minitensor can run.
CASES = [case for case in ALL if case.ran and not case.left_out]


# ---- bytes held for backward ----

TORCH_COPIES = json.loads((FACTS / "torch-copies.json").read_text())["copies"]
#: The keys in facts/torch-copies.json of cases whose second operand is a constant tensor, or whose operation has
#: another name in PyTorch.
TORCH_NAMES = {"multiply_": "mul_ by a constant tensor", "divide_": "div_ by a constant tensor", "subtract_": "sub_"}


def recorded_copies(case: Case) -> float | None:
    """Return the copies of x that the framework keeps, or None if they were not recorded."""
    if case.framework.startswith("torch"):
        return TORCH_COPIES.get(TORCH_NAMES.get(case.name, case.name)) if "nonleaf" in case.recorded else None
    return (case.recorded.get("extra_memory_held_for_backward") or {}).get("copies_of_x_held")
