"""Test the classes of activations and losses, which are generated from one declaration for both vocabularies."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest

import minitensor as mt
import minitensor.nn.functional
from minitensor import torch
from minitensor.engine.layers.declared import DECLARED, PADDLE, TORCH, source

VOCABULARIES = {"Paddle's": (PADDLE, mt.nn), "PyTorch's": (TORCH, torch.nn)}
LAYERS = [
    pytest.param(declared, vocabulary, nn, id=f"{owner}: {declared.function}")
    for owner, (vocabulary, nn) in VOCABULARIES.items()
    for declared in DECLARED
    if declared.spelled(vocabulary)
]


def class_of(declared: Any, vocabulary: Any, nn: Any) -> type:
    return getattr(nn, declared.spelled(vocabulary).partition("(")[0])


@pytest.mark.parametrize(("declared", "vocabulary", "nn"), LAYERS)
def test_a_class_has_the_declared_parameters(declared: Any, vocabulary: Any, nn: Any):
    kind = class_of(declared, vocabulary, nn)
    _, _, parameters = declared.spelled(vocabulary).partition("(")
    written = str(inspect.signature(kind)).replace(" -> 'None'", "")
    assert written.replace("'", "") == f"({parameters}".replace("'", "")


@pytest.mark.parametrize(("declared", "vocabulary", "nn"), LAYERS)
def test_the_function_of_a_class_has_each_setting_as_a_parameter(declared: Any, vocabulary: Any, nn: Any):
    parameters = inspect.signature(getattr(nn.functional, declared.function)).parameters
    if not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        settings = set(declared.settings(vocabulary))
        twin = f"{declared.function}_" in nn.functional.__all__
        assert settings - ({"inplace"} if twin else set()) <= set(parameters)


@pytest.mark.parametrize(("declared", "vocabulary", "nn"), LAYERS)
def test_pickle_finds_a_declared_class_and_inspect_finds_its_methods(declared: Any, vocabulary: Any, nn: Any):
    kind = class_of(declared, vocabulary, nn)
    assert type(pickle.loads(pickle.dumps(kind()))) is kind
    assert inspect.getsource(kind.forward).strip() in source(declared, vocabulary)
    assert kind.__doc__ and "{" not in kind.__doc__


def test_repr_shows_the_settings_and_inplace_only_if_it_is_true():
    assert repr(torch.nn.Hardtanh(-2.0)) == "Hardtanh(min_val=-2.0, max_val=1.0)"
    assert repr(mt.nn.LeakyReLU(0.2, inplace=True)) == "LeakyReLU(negative_slope=0.2, inplace=True)"
    assert repr(torch.nn.GELU("tanh")) == "GELU(approximate='tanh')" and repr(mt.nn.MSELoss("sum")) == "MSELoss()"


def test_the_weight_of_a_loss_is_an_attribute_in_paddle_and_a_buffer_in_pytorch():
    weight = torch.ones(2)
    assert list(torch.nn.BCELoss(weight).state_dict()) == ["weight"] and mt.nn.BCELoss(mt.ones([2])).state_dict() == {}
