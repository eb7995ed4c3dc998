"""Test that gradcheck accepts right gradients, and notices and describes every kind of planted mistake."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minitensor as mt
from minitensor.autograd import PyLayer
from minitensor.engine.autograd.gradcheck import gradcheck
from tests.support.engine.differences import leaf


def layer(forward, backward) -> type[PyLayer]:
    """Return a `PyLayer` that saves its only input and has the given ``forward(x)`` and ``backward(x, g)``."""

    def run(ctx, x):
        ctx.save_for_backward(x)
        return forward(x)

    def back(ctx, g):
        (x,) = ctx.saved_tensor()
        return backward(x, g)

    return type("Layer", (PyLayer,), {"forward": staticmethod(run), "backward": staticmethod(back)})


X = [[0.4, -0.7, 1.1], [2.0, 0.3, -1.5]]


# ---------- right gradients ----------


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (lambda x: x.sin(), leaf(X)),
        (lambda x: x.sin().sum(), [leaf(X)]),
        (lambda x, y: (x * y, x @ y.t()), (leaf(X), leaf([[1.0, 2.0, 3.0]]))),
        (lambda x, y: x * y, [leaf(X)] * 2),
        (lambda x, y: x * 2, [leaf([1.0]), leaf([2.0])]),
        (lambda x, y, power: x**power + y, [leaf([1.0, 2.0]), mt.ones([2], "float64"), 3]),
        (lambda x: (x * 1).sin_().multiply_(x), leaf(X)),
        (lambda x: [x.clone().exp_(), x > 0, x.detach()], leaf(X)),
        (lambda x: x > 0, leaf(X)),
        (lambda x: x * 1 + 2, leaf(0.5)),
        (lambda x: x.exp(), leaf(np.zeros((2, 0)))),
        (lambda x: x.t().reshape([-1])[::2] * x[0, 0], leaf(X)),
        (lambda x: mt.grad((x * x * x).sum(), x, create_graph=True)[0], leaf(X)),
    ],
    ids=[
        *("elements", "a sum", "two inputs and outputs", "one input twice", "an unused input", "constants", "in place"),
        *("outputs of every kind", "only a constant output", "no dimensions", "no elements", "views", "a gradient"),
    ],
)
def test_gradcheck_accepts_right_gradients(function, inputs, order):
    before = mt.is_grad_enabled()
    assert gradcheck(function, inputs, order=order) is True
    assert mt.is_grad_enabled() is before


def test_gradcheck_works_under_no_grad_and_changes_no_gradient_and_no_input():
    w = leaf(X)
    with mt.no_grad():
        assert gradcheck(lambda x: x * x, w)
    assert w.grad is None and w.inplace_version == 0 and w.tolist() == X


def test_the_function_gets_a_transposed_input_with_its_strides():
    seen = []
    whole = np.array(X)
    w = leaf(X)
    transposed = w.t()
    assert gradcheck(lambda x: seen.append(x.is_contiguous()) or x * x, transposed)
    assert set(seen) == {False} and w.tolist() == whole.tolist()


# ---------- wrong first derivatives ----------


def shown(function, inputs, **settings) -> str:
    """Return the text of the error, and check that ``raise_exception=False`` returns False."""
    assert gradcheck(function, inputs, raise_exception=False, **settings) is False
    with pytest.raises(RuntimeError) as raised:
        gradcheck(function, inputs, **settings)
    return str(raised.value)


def test_the_error_shows_the_wrong_elements_of_a_gradient():
    wrong = layer(lambda x: x * x, lambda x, g: g * mt.where(x > 1.9, x * 2.5, x * 2))
    text = shown(wrong.apply, leaf(X))
    assert "gradient of output 0 for input 0 is wrong in 1 of 36 elements" in text
    assert "d output 0[1, 0] / d input 0[1, 0]" in text
    assert "backward says   5.0" in text and re.search(r"differences say (4\.0|3\.9999)", text)
    assert "differ by 1; allowed are 1e-05 + 0.001 * 4" in text


def test_the_error_names_the_output_and_the_input_with_a_wrong_gradient():
    class Second(PyLayer):
        @staticmethod
        def forward(ctx, x, y):
            return x * 2, x + y * 3

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h, h * 4

    assert "gradient of output 1 for input 1 is wrong in 2 of 4" in shown(
        Second.apply, [leaf([1.0, 2.0])] + [leaf([3.0, 4.0])]
    )


@pytest.mark.parametrize(
    ("backward", "match"),
    [
        (lambda x, g: g * 0, "gradient of output 0 for input 0"),
        (lambda x, g: -g * 2 * x, "gradient of output 0 for input 0"),
        (lambda x, g: g * 2 * x + 1e-4, "not linear"),
        (lambda x, g: mt.full_like(g, float("nan")), "backward says   nan"),
        (lambda x, g: g * 2 * x.flatten()[0], "gradient of output 0"),
        (lambda x, g: g.abs() * 2 * x, "not linear"),
    ],
    ids=["always 0", "wrong sign", "a small constant added", "nan", "factor of another element", "not linear"],
)
def test_every_kind_of_mistake_is_noticed(backward, match):
    assert match in shown(layer(lambda x: x * x, backward).apply, leaf(X))


def test_a_backward_whose_results_change_is_noticed():
    runs = []

    def backward(x, g):
        runs.append(1)
        return g * 2 * x if len(runs) <= 7 else g * 3 * x

    assert gradcheck(layer(lambda x: x * x, backward).apply, leaf(X), raise_exception=False) is False
    runs.clear()
    with pytest.raises(RuntimeError, match="another gradient when it runs a second time"):
        gradcheck(layer(lambda x: x * x, backward).apply, leaf(X))


def test_an_output_without_gradient_that_depends_on_the_input_is_noticed():
    assert "output 0 (which requires no gradient)" in shown(lambda x: x.detach() * 2, leaf(X))


def test_a_mistake_in_the_backward_of_an_in_place_layer_is_noticed():
    class Scale(PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.scale_(3.0)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    assert "backward says   2.0" in shown(lambda x: Scale.apply(x * 1), leaf([1.0]))


# ---------- wrong second derivatives ----------


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (layer(lambda x: x * x, lambda x, g: g * 2 * x.detach()).apply, "weighted sum of the gradients for input 0"),
        (layer(lambda x: x * x, lambda x, g: g.detach() * 2 * x).apply, "gradients for the weights of output 0"),
        (layer(lambda x: x * x, lambda x, g: g * (2 * x if g.stop_gradient else 3 * x)).apply, "with create_graph"),
    ],
    ids=["x taken as a constant", "g taken as a constant", "another gradient under create_graph"],
)
def test_a_mistake_in_the_second_derivative_is_noticed(function, match):
    assert gradcheck(function, leaf(X)) is True
    assert match in shown(function, leaf(X), order=2)


# ---------- functions that cannot be checked ----------


def test_a_random_function_raises_an_error_that_names_randomness():
    text = shown(lambda x: x * mt.rand([2, 3], "float64"), leaf(X))
    assert "other values for output 0 when it is called again" in text and "seed()" in text

    def seeded(x):
        mt.seed(3)
        return x * mt.rand([2, 3], "float64")

    assert gradcheck(seeded, leaf(X))


def test_a_function_that_keeps_a_state_raises_an_error():
    state = [0.0]

    def counting(x):
        state[0] += 1
        return x * state[0]

    assert "keeps a state" in shown(counting, leaf(X))


def test_a_function_that_changes_its_input_raises_an_error():
    def writes(x):
        y = x * 2
        x.detach().add_(1.0)
        return y

    assert "changed input 0 itself" in shown(writes, leaf(X))
    with pytest.raises(ValueError, match=r"(?s)Leaf Var.*Nothing was written"):
        gradcheck(lambda x: x.sin_(), leaf(X))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: gradcheck(mt.sin, mt.rand([2])), ValueError, "no input requires a gradient"),
        (lambda: gradcheck(mt.sin, mt.to_tensor([1.0], stop_gradient=False)), TypeError, "input 0.*float32.*float64"),
        (lambda: gradcheck(lambda x: x.astype("float32"), leaf(X)), TypeError, "output 0.*float32"),
        (lambda: gradcheck(lambda x: 3.0, leaf(X)), TypeError, "must return tensors, not float"),
        (lambda: gradcheck(leaf(X), leaf(X)), TypeError, "function must be a function, not"),
        (lambda: gradcheck(mt.atan, leaf([1.0, 1e200])), ValueError, "makes no difference to 1e.200"),
        (lambda: gradcheck(mt.exp, leaf([1.0, np.inf])), ValueError, "makes no difference to inf"),
        (lambda: gradcheck(mt.sin, leaf(X), order=3), ValueError, "order must be 1 or 2, not 3"),
        (lambda: gradcheck(mt.sin, leaf(X), eps=0), ValueError, "eps.*not 0"),
        (lambda: gradcheck(mt.sin, leaf(X), atol="a"), ValueError, "atol.*'a'"),
    ],
)
def test_an_invalid_argument_raises_an_error_that_names_it(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_the_given_tolerances_and_steps_are_used():
    nearly = layer(lambda x: x * x, lambda x, g: g * 2.001 * x).apply
    assert gradcheck(nearly, leaf([1.0]), atol=0, rtol=1e-3)
    assert gradcheck(nearly, leaf([1.0]), atol=0, rtol=1e-4, raise_exception=False) is False
    # A step of 1 is too long for a cube: (x + 1)**3 - (x - 1)**3 is 6 x**2 + 2.
    assert "differences say 4.0" in shown(lambda x: x * x * x, leaf([1.0]), eps=1.0)
