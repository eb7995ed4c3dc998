"""Test that the error about a wrong argument names the called function and not an internal one."""

from __future__ import annotations

import inspect
import re

import pytest

import minitensor as mt
from minitensor import torch
from minitensor.nn import functional

#: The beginnings of the names of functions that change settings or files. The test does not call them.
SETTING = ("set_", "enable_", "disable_", "seed", "save")

#: Functions whose errors name another function, because they are its alias or a special case of it.
SAY = {"softmax_with_cross_entropy": "cross_entropy", "clamp_": "clip"}


def functions(module) -> list[str]:
    found = [name for name in dir(module) if not name.startswith(("_", *SETTING))]
    return [name for name in found if inspect.isroutine(getattr(module, name))]


FUNCTIONS = [(module, name) for module in (mt, functional) for name in functions(module)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy warns of logarithms of negative numbers
@pytest.mark.parametrize(("module", "name"), FUNCTIONS, ids=[f"{m.__name__}.{name}" for m, name in FUNCTIONS])
def test_a_function_names_itself_in_the_error_about_a_wrong_argument(module, name):
    function = getattr(module, name)
    known = {name, name.rstrip("_"), function.__name__, SAY.get(name)}
    x = mt.ones([2, 3])
    for given in [("a",), (x, "a"), (x, 99), (x, mt.ones([7])), ([1],), (x, x, "a"), (x, x, 99), (3,), ("a", "b")]:
        for named in ({}, {"axis": 99}, {"axis": "a"}, {"shape": "a"}):
            try:
                function(*given, **named)
            except Exception as error:
                named_first = re.match(r"(\w+):", str(error))
                assert named_first is None or named_first[1] in known, f"{name}{given[1:]}, {named}: {error}"


def test_batch_norm_in_pytorch_refuses_a_wrong_number_of_channels_with_pytorchs_message():
    for training in (True, False):
        with pytest.raises(RuntimeError, match=r"^running_mean should contain 4 elements not 3$"):
            torch.nn.BatchNorm2d(3).train(training)(torch.ones(2, 4, 5, 5))
