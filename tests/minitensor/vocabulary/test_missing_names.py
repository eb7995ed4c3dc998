"""Test names that tutorials use and minitensor lacks: each error gives a reason, and two suggested substitutes work."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import minitensor as paddle
from minitensor import torch
from minitensor.paddle.missing import NOT_HERE
from minitensor.torch.errors import LEFT_OUT

F = torch.nn.functional
RECORD = json.loads((Path(__file__).parents[3] / "facts" / "tutorial-names.json").read_text("utf-8"))
VOCABULARIES = {"torch": (torch, LEFT_OUT), "paddle": (paddle, NOT_HERE)}
NAMES = [(library, name) for library in VOCABULARIES for name in RECORD[library]["missing"]]


def found(library: str, name: str) -> object:
    value: object = VOCABULARIES[library][0]
    for part in name.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(("library", "name"), NAMES)
def test_the_error_about_a_missing_name_of_tutorials_gives_the_reason(library: str, name: str):
    with pytest.raises(AttributeError) as raised:
        found(library, name)
    reason = next(
        (VOCABULARIES[library][1][part] for part in name.split(".") if part in VOCABULARIES[library][1]), None
    )
    assert reason is not None and reason in str(raised.value)


@pytest.mark.parametrize(("module", "name"), [("amp", "decorate"), ("distributed", "spawn"), ("optimizer", "Lamb")])
def test_the_error_about_a_name_that_a_module_lacks_gives_the_reason(module: str, name: str):
    with pytest.raises(AttributeError) as raised:
        getattr(getattr(paddle, module), name)
    assert str(raised.value) == f"module 'minitensor.{module}' has no attribute '{name}': {NOT_HERE[name]}"


def test_the_names_of_tutorials_that_are_not_missing_exist():
    for library in VOCABULARIES:
        for name in RECORD[library]["present"]:
            assert found(library, name) is not None


def test_fold_of_a_matrix_product_computes_a_transposed_convolution():
    """A transposed convolution is the gradient of a convolution with the same weight."""
    torch.manual_seed(0)
    x, weight = torch.randn(2, 3, 4, 4), torch.randn(3, 5, 2, 2)
    made = F.fold(weight.flatten(1).t() @ x.flatten(2), (8, 8), (2, 2), stride=2)
    image = torch.zeros(2, 5, 8, 8, requires_grad=True)
    F.conv2d(image, weight, stride=2).backward(x)
    np.testing.assert_allclose(made.numpy(), image.grad.numpy(), atol=1e-5)


def test_smooth_l1_loss_times_beta_is_the_huber_loss():
    difference, delta = torch.tensor([0.0, 0.5, 3.0, -4.0]), 1.5
    made = F.smooth_l1_loss(difference, torch.zeros(4), reduction="none", beta=delta) * delta
    assert made.tolist() == [0.0, 0.125, 3.375, 4.875]


@pytest.mark.parametrize("module", [torch, torch.nn.functional, paddle, paddle.nn.functional])
def test_no_module_shows_the_internal_function_with_the_name_found_in(module):
    assert not hasattr(module, "found_in")
