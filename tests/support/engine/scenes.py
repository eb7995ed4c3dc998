"""Targets of in-place operations, the tensors on which a write could have an effect, and operations on the targets.

A scene consists of a target, which is a tensor of shape [2, 3] with positive numbers, and the tensors around it. A
failed operation must not change values, dtype, shape, strides, version, history, ``stop_gradient``, the write log, the
allocated bytes, or the result of a later backward.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import minitensor as mt
from minitensor.engine.table import ROWS
from tests.support.engine.differences import weights
from tests.support.engine.samples import IN_PLACE_ONCE, POSITIVE
from tests.support.engine.state import Moment

Attempt = Callable[[mt.Tensor], object]

# ---------- targets and their surroundings ----------


class Scene:
    """A target to write, and a dictionary of the named tensors on which the write could have an effect.

    If one of them is a leaf that requires a gradient, its name is ``w``.
    """

    def __init__(self, target: mt.Tensor, **around: mt.Tensor) -> None:
        self.target, self.around = target, around

    def everything(self) -> dict[str, mt.Tensor]:
        return {"target": self.target, **self.around}


def plain(dtype: str = "float64") -> Scene:
    return Scene(mt.to_tensor(POSITIVE.astype(dtype)))


def plain_view(dtype: str = "float64") -> Scene:
    whole = mt.to_tensor(POSITIVE.T.astype(dtype))
    return Scene(whole.T, whole=whole, other=whole[0])


def recorded() -> Scene:
    w = mt.to_tensor(POSITIVE, stop_gradient=False)
    return Scene(w * 1, w=w)


def base() -> Scene:
    """Return a scene whose target is computed and has views."""
    w = mt.to_tensor(POSITIVE, stop_gradient=False)
    x = w * 1
    return Scene(x, w=w, view=x[0], squares=x * x, deep=x.T[1:])


def member() -> Scene:
    """Return a scene whose target is a view of a computed tensor, which also has other views."""
    w = mt.to_tensor(POSITIVE.T.copy(), stop_gradient=False)
    x = w * 1
    view = x.T
    view.retain_grads()
    return Scene(view, w=w, x=x, other=x[1:], squares=x * x, more=view[0].exp())


def outdated_member() -> Scene:
    """Return a scene whose target is a view with an outdated node, because the viewed tensor was written later."""
    w = mt.to_tensor(POSITIVE.T.copy(), stop_gradient=False)
    x = w * 1
    view = x.T
    x.scale_(2.0)
    return Scene(view, w=w, x=x, squares=x * x)


TARGETS = {f.__name__: f for f in (plain, plain_view, recorded, base, member, outdated_member)}
RECORDED = {name: f for name, f in TARGETS.items() if name not in ("plain", "plain_view")}


def backward_values(scene: Scene) -> list[object]:
    """Return the gradients of the leaf ``w`` after backward from each tensor that requires a gradient.

    The list is empty if the scene has no leaf.
    """
    leaf = scene.around.get("w")
    if leaf is None:
        return []
    found = []
    for x in [scene.target, *scene.around.values()]:
        if not x.stop_gradient:
            leaf.grad = None
            x.backward(mt.to_tensor(weights(x.shape)), retain_graph=True)
            found.append(leaf.grad.tolist())
    return found


def expect_no_trace(make: Callable[[], Scene], attempt: Attempt, error: type[Exception], match: str) -> None:
    scene = make()
    before = Moment(**scene.everything())
    for _ in range(2):  # a second attempt, on the tensor that the first one must not change
        with pytest.raises(error, match=match):
            attempt(scene.target)
        before.expect_unchanged()
    assert backward_values(scene) == backward_values(make())


# ---------- the operations ----------

#: A sample of each operation that can write a floating tensor.
SAMPLE = {s.name: s for s in IN_PLACE_ONCE if s.arrays[s.target].dtype.kind == "f"}
#: The operations with two operands.
BINARY = sorted(name for name in SAMPLE if len(ROWS[name].operands) == 2)
#: The operations with two operands whose result is not a bool; a bool fits into every dtype, so it is never refused.
ARITHMETIC = sorted(name for name in BINARY if not ROWS[name].not_differentiable)
ALL = sorted(SAMPLE)


def run(name: str, x: mt.Tensor, *given: object) -> object:
    """Run the operation in place on ``x``, with the other operands ``given``, or those of the sample."""
    sample = SAMPLE[name]
    others = given or tuple(y for i, y in enumerate(sample.tensors()) if i != sample.target)
    return sample.run_in_place([*others[: sample.target], x, *others[sample.target :]])


WRITES: dict[str, Attempt] = {
    **{name + "_": lambda x, n=name: run(n, x) for name in ALL},
    "x[0] = v": lambda x: x.__setitem__(0, 5.0),
    "x[:, 1:] = v": lambda x: x.__setitem__((slice(None), slice(1, None)), mt.to_tensor([[5.0], [6.0]])),
    "x[[1, 0]] = v": lambda x: x.__setitem__([1, 0], mt.to_tensor([5.0, 6.0, 7.0], "float64")),
    "x[mask] = v": lambda x: x.__setitem__(mt.to_tensor([True, False]), 5.0),
    "copy_": lambda x: x.copy_(mt.to_tensor(POSITIVE * 2)),
}

METADATA: dict[str, Attempt] = {
    "reshape_": lambda x: x.reshape_([2, 1, 3]),
    "transpose_": lambda x: x.transpose_([1, 0]),
    "t_": lambda x: x.t_(),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "squeeze_": lambda x: x.squeeze_(),
    "flatten_": lambda x: x.flatten_(1),
}
