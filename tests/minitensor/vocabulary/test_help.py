"""Test that ``help`` describes shapes and refusals for every public name that takes or returns tensors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import minitensor as mt
import minitensor.nn.functional
import minitensor.torch.nn.functional
from minitensor import torch
from minitensor.torch.nn import init
from minitensor.vision import transforms

SPACES = {
    "minitensor": mt,
    "minitensor.Tensor": mt.Tensor,
    "minitensor.nn": mt.nn,
    "minitensor.nn.functional": mt.nn.functional,
    "minitensor.nn.initializer": mt.nn.initializer,
    "minitensor.optimizer": mt.optimizer,
    "minitensor.vision.transforms": transforms,
    "torch": torch,
    "torch.Tensor": torch.Tensor,
    "torch.nn": torch.nn,
    "torch.nn.functional": torch.nn.functional,
    "torch.nn.init": init,
    "torch.optim": torch.optim,
}

#: Names whose help has no shape to describe, because they take and return no tensors, or tensors of any shape.
WITHOUT_SHAPES = {
    *("CPUPlace", "CUDAPlace", "ParamAttr", "check_foreign_writes", "disable_static", "enable_grad", "enable_static"),
    *("explain", "get_device", "get_inplace_policy", "in_dynamic_mode", "is_compiled_with_cuda", "is_grad_enabled"),
    *(
        "autocast",
        "get_autocast_dtype",
        "is_autocast_enabled",
        "is_tensor",
        "load",
        "no_grad",
        "save",
        "seed",
        "set_device",
        "set_grad_enabled",
        "set_inplace_policy",
        "source",
    ),
    *("Generator", "device", "dtype", "finfo", "iinfo", "inference_mode", "get_num_threads", "set_num_threads"),
    *("get_rng_state", "set_rng_state", "initial_seed", "manual_seed", "calculate_gain", "Layer", "Module"),
    *("bool", "float", "double", "int", "long", "get_default_device", "set_default_device"),
    *("Optimizer", "set_printoptions", "LayerList", "ModuleList", "from_dlpack", "grad"),
    *("ModuleDict", "ParameterList", "ParameterDict"),
    # These methods take one tensor of any shape.
    *("backward", "clear_grad", "clear_gradient", "data_ptr", "detach_", "element_size", "is_contiguous", "item"),
    *("numel", "nelement", "is_floating_point", "register_hook", "register_post_accumulate_grad_hook", "retain_grads"),
    *("retain_grad", "requires_grad_", "storage_offset", "untyped_storage", "numpy", "type", "apply_", "can_cast"),
}
#: Names that refuse no argument. A name with a prefix, as in `torch.seed`, is meant for this module only.
REFUSES_NOTHING = {
    *("CPUPlace", "ParamAttr", "enable_grad", "get_device", "get_inplace_policy", "in_dynamic_mode", "no_grad"),
    *("is_compiled_with_cuda", "is_grad_enabled", "Constant", "explain"),
    *("bool", "byte", "char", "short", "int", "long", "half", "bfloat16", "float", "double"),
    *("Generator", "get_num_threads", "dtype", "Size"),
    *("Tensor", "clear_grad", "clear_gradient", "data_ptr", "detach", "detach_", "dim", "ndimension", "element_size"),
    *("is_contiguous", "is_tensor", "gradient", "tolist", "numel", "nelement", "is_floating_point", "storage_offset"),
    *("untyped_storage", "set_printoptions", "contiguous", "inference_mode", "get_default_device", "cpu"),
    *("torch.seed", "get_rng_state", "initial_seed", "Identity"),
}
SHAPE = re.compile(r"[Ss]hape|\[[\w.]|\[\]|dimension")
REFUSAL = re.compile(r"\w+Error\b|refused")


def public(space: Any) -> Iterator[tuple[str, Any]]:
    # These modules also import names that other modules define and document.
    own = space in (mt.nn.initializer, transforms)
    for name in getattr(space, "__all__", None) or dir(space):
        value = None if name.startswith("_") else getattr(space, name, None)
        module = str(getattr(value, "__module__", ""))
        if callable(value) and (module == space.__name__ if own else module.startswith(("minitensor", "memory_stage"))):
            yield name, value


def test_every_name_without_shapes_or_refusals_is_public():
    names = {each for space, own in SPACES.items() for name, _ in public(own) for each in (name, f"{space}.{name}")}
    assert WITHOUT_SHAPES - names == set() == REFUSES_NOTHING - names


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    ("reported", "but"), [(SHAPE, WITHOUT_SHAPES), (REFUSAL, REFUSES_NOTHING)], ids=["shape", "error"]
)
def test_help_describes_shapes_and_refusals(space: str, reported: re.Pattern[str], but: set[str]):
    names = dict(public(SPACES[space]))
    assert len(names) > 4
    assert [name for name, value in names.items() if not reported.search(inspect.getdoc(value) or "")
            and not {name, f"{space}.{name}"} & but] == []  # fmt: skip


def layers() -> dict[str, tuple[type[Exception], Callable[[], Any]]]:
    """Return wrong calls of layers, losses and optimizers; keys are the classes whose help names the error."""
    x, images, classes = mt.ones([3, 4]), mt.ones([1, 2, 4, 4]), mt.to_tensor([0, 1, 9])
    leaf = mt.to_tensor([1.0, 2.0], stop_gradient=False)
    whole = mt.ones([2], dtype="int64")
    nn, optimizer = mt.nn, mt.optimizer
    return {
        "nn.Linear": (ValueError, lambda: nn.Linear(2, 2)(x)),
        "nn.Conv2D": (ValueError, lambda: nn.Conv2D(3, 2, 3)(images)),
        "nn.Flatten": (IndexError, lambda: nn.Flatten()(leaf)),
        "nn.ReLU": (ValueError, lambda: nn.ReLU(inplace=True)(leaf)),
        "nn.Tanh": (TypeError, lambda: nn.Tanh(inplace=True)(whole)),
        "nn.LeakyReLU": (ValueError, lambda: nn.LeakyReLU(-1)(x)),
        "nn.ELU": (ValueError, lambda: nn.ELU(-1)(x)),
        "nn.Hardtanh": (ValueError, lambda: nn.Hardtanh(2, 1)(x)),
        "nn.ThresholdedReLU": (TypeError, lambda: nn.ThresholdedReLU("a")(x)),
        "nn.Softmax": (IndexError, lambda: nn.Softmax(5)(x)),
        "nn.LogSoftmax": (IndexError, lambda: nn.LogSoftmax(5)(x)),
        "nn.GELU": (TypeError, lambda: nn.GELU()(whole)),
        "nn.Silu": (TypeError, lambda: nn.Silu()(whole)),
        "nn.Dropout": (ValueError, lambda: nn.Dropout(2)),
        "nn.BatchNorm1D": (ValueError, lambda: nn.BatchNorm1D(2)(images)),
        "nn.BatchNorm2D": (ValueError, lambda: nn.BatchNorm2D(7)(images)),
        "nn.LayerNorm": (ValueError, lambda: nn.LayerNorm(7)(x)),
        "nn.GroupNorm": (ValueError, lambda: nn.GroupNorm(2, 3)),
        "nn.InstanceNorm2D": (ValueError, lambda: nn.InstanceNorm2D(3)(images)),
        "nn.MaxPool2D": (ValueError, lambda: nn.MaxPool2D(9)(images)),
        "nn.AvgPool2D": (ValueError, lambda: nn.AvgPool2D(2)(x)),
        "nn.AdaptiveAvgPool2D": (ValueError, lambda: nn.AdaptiveAvgPool2D(0)(images)),
        "nn.CrossEntropyLoss": (IndexError, lambda: nn.CrossEntropyLoss()(x, classes)),
        "nn.NLLLoss": (IndexError, lambda: nn.NLLLoss()(x, classes)),
        "nn.MSELoss": (ValueError, lambda: nn.MSELoss()(x, leaf)),
        "nn.L1Loss": (ValueError, lambda: nn.L1Loss("a")(x, x)),
        "nn.SmoothL1Loss": (ValueError, lambda: nn.SmoothL1Loss()(x, leaf)),
        "nn.BCELoss": (ValueError, lambda: nn.BCELoss()(x * 2, x)),
        "nn.BCEWithLogitsLoss": (ValueError, lambda: nn.BCEWithLogitsLoss()(x, leaf)),
        "nn.KLDivLoss": (ValueError, lambda: nn.KLDivLoss("a")(x, x)),
        "nn.SimpleRNNCell": (ValueError, lambda: nn.SimpleRNNCell(2, 2, "sin")),
        "nn.LSTMCell": (ValueError, lambda: nn.LSTMCell(2, 2)(x)),
        "nn.GRUCell": (ValueError, lambda: nn.GRUCell(0, 2)),
        "nn.SimpleRNN": (ValueError, lambda: nn.SimpleRNN(2, 2, 2)),
        "nn.LSTM": (ValueError, lambda: nn.LSTM(2, 2)(mt.ones([2, 3, 9]))),
        "nn.GRU": (ValueError, lambda: nn.GRU(2, 2, direction="bidirect")),
        "nn.Embedding": (TypeError, lambda: nn.Embedding(3, 2)(x)),
        "nn.MultiHeadAttention": (ValueError, lambda: nn.MultiHeadAttention(4, 3)),
        "nn.Sequential": (TypeError, lambda: nn.Sequential(3)),
        "nn.LayerList": (IndexError, lambda: nn.LayerList([])[0]),
        "nn.Layer": (NotImplementedError, lambda: nn.Layer()(x)),
        "nn.initializer.Assign": (ValueError, lambda: nn.initializer.Assign([1, 2])(mt.ones([3]))),
        "nn.initializer.Uniform": (ValueError, lambda: nn.initializer.Uniform(2, 1)),
        "nn.initializer.Normal": (ValueError, lambda: nn.initializer.Normal(0, -1)),
        "nn.ClipGradByValue": (ValueError, lambda: nn.ClipGradByValue(1, 2)),
        "nn.ClipGradByNorm": (ValueError, lambda: nn.ClipGradByNorm(-1)),
        "nn.utils.clip_grad_value_": (TypeError, lambda: nn.utils.clip_grad_value_([leaf], "a")),
        "optimizer.Momentum": (ValueError, lambda: optimizer.Momentum(0.1, -1, [leaf])),
        "optimizer.Adam": (ValueError, lambda: optimizer.Adam(0.1, 2, parameters=[leaf])),
        "optimizer.RMSProp": (ValueError, lambda: optimizer.RMSProp(0.1, 2, parameters=[leaf])),
        "optimizer.lr.StepDecay": (ValueError, lambda: optimizer.lr.StepDecay(0.1, 0)),
        "optimizer.lr.LinearWarmup": (ValueError, lambda: optimizer.lr.LinearWarmup(0.1, 0, 0, 1)),
        "vision.transforms.hflip": (TypeError, lambda: transforms.hflip(3)),
        "vision.transforms.adjust_contrast": (ValueError, lambda: transforms.adjust_contrast(mt.ones([1, 2, 2]), 1)),
    }


def modules() -> dict[str, tuple[type[Exception], Callable[[], Any]]]:
    """Return wrong calls of PyTorch's classes. Keys are the classes whose help names the error."""
    x, images, classes = torch.ones(3, 4), torch.ones(1, 2, 4, 4), torch.tensor([0, 1, 9])
    leaf = torch.ones(2, requires_grad=True)
    whole, nn, optim = torch.tensor([1, 2]), torch.nn, torch.optim
    return {
        "nn.Linear": (RuntimeError, lambda: nn.Linear(2, 2)(x)),
        "nn.Conv2d": (RuntimeError, lambda: nn.Conv2d(3, 2, 3)(images)),
        "nn.Flatten": (RuntimeError, lambda: nn.Flatten(2, 1)(images)),
        "nn.ReLU": (RuntimeError, lambda: nn.ReLU(inplace=True)(leaf)),
        "nn.ReLU6": (TypeError, lambda: nn.ReLU6()(3)),
        "nn.Sigmoid": (TypeError, lambda: nn.Sigmoid()(3)),
        "nn.Tanh": (TypeError, lambda: nn.Tanh()(3)),
        "nn.LeakyReLU": (RuntimeError, lambda: nn.LeakyReLU(-1)(x)),
        "nn.ELU": (RuntimeError, lambda: nn.ELU(-1)(x)),
        "nn.Hardtanh": (RuntimeError, lambda: nn.Hardtanh(2, 1)(x)),
        "nn.Softmax": (IndexError, lambda: nn.Softmax(5)(x)),
        "nn.LogSoftmax": (IndexError, lambda: nn.LogSoftmax(5)(x)),
        "nn.GELU": (RuntimeError, lambda: nn.GELU("a")(x)),
        "nn.SiLU": (TypeError, lambda: nn.SiLU()(whole)),
        "nn.Dropout": (ValueError, lambda: nn.Dropout(2)),
        "nn.BatchNorm1d": (ValueError, lambda: nn.BatchNorm1d(2)(images)),
        "nn.BatchNorm2d": (ValueError, lambda: nn.BatchNorm2d(2)(x)),
        "nn.LayerNorm": (RuntimeError, lambda: nn.LayerNorm(7)(x)),
        "nn.GroupNorm": (ValueError, lambda: nn.GroupNorm(2, 3)),
        "nn.InstanceNorm2d": (ValueError, lambda: nn.InstanceNorm2d(7)(x)),
        "nn.MaxPool2d": (RuntimeError, lambda: nn.MaxPool2d(2)(x)),
        "nn.AvgPool2d": (RuntimeError, lambda: nn.AvgPool2d(9)(images)),
        "nn.AdaptiveAvgPool2d": (RuntimeError, lambda: nn.AdaptiveAvgPool2d(2)(x)),
        "nn.CrossEntropyLoss": (IndexError, lambda: nn.CrossEntropyLoss()(x, classes)),
        "nn.NLLLoss": (ValueError, lambda: nn.NLLLoss()(x, whole)),
        "nn.MSELoss": (ValueError, lambda: nn.MSELoss("a")(x, x)),
        "nn.BCELoss": (RuntimeError, lambda: nn.BCELoss()(x * 2, x)),
        "nn.BCEWithLogitsLoss": (ValueError, lambda: nn.BCEWithLogitsLoss()(x, leaf)),
        "nn.KLDivLoss": (RuntimeError, lambda: nn.KLDivLoss(reduction="sum")(x, leaf)),
        "nn.RNNCell": (RuntimeError, lambda: nn.RNNCell(2, 2, "sin")),
        "nn.LSTMCell": (RuntimeError, lambda: nn.LSTMCell(2, 2)(x)),
        "nn.GRUCell": (ValueError, lambda: nn.GRUCell(2, 2)(images)),
        "nn.RNN": (ValueError, lambda: nn.RNN(2, 2, 2)),
        "nn.LSTM": (ValueError, lambda: nn.LSTM(2, 2)(images)),
        "nn.GRU": (RuntimeError, lambda: nn.GRU(2, 2)(x)),
        "nn.Embedding": (IndexError, lambda: nn.Embedding(3, 2)(classes)),
        "nn.MultiheadAttention": (AssertionError, lambda: nn.MultiheadAttention(4, 3)),
        "nn.Parameter": (TypeError, lambda: nn.Parameter(3)),
        "nn.Sequential": (IndexError, lambda: nn.Sequential()[0]),
        "nn.Module": (NotImplementedError, lambda: nn.Module()(x)),
        "nn.init.uniform_": (RuntimeError, lambda: init.uniform_(torch.ones(2), 2, 1)),
        "nn.init.normal_": (TypeError, lambda: init.normal_(whole)),
        "nn.init.kaiming_uniform_": (ValueError, lambda: init.kaiming_uniform_(x, mode="a")),
        "nn.init.xavier_normal_": (ValueError, lambda: init.xavier_normal_(leaf)),
        "nn.functional.cross_entropy": (RuntimeError, lambda: nn.functional.cross_entropy(x, torch.ones(3))),
        "nn.functional.softmin": (IndexError, lambda: nn.functional.softmin(x, 5)),
        "nn.utils.clip_grad_value_": (TypeError, lambda: nn.utils.clip_grad_value_([leaf], "a")),
        "optim.SGD": (ValueError, lambda: optim.SGD([leaf], 0.1, nesterov=True)),
        "optim.Adam": (ValueError, lambda: optim.Adam([leaf], betas=(2, 2))),
        "optim.RMSprop": (ValueError, lambda: optim.RMSprop([leaf], alpha=-1)),
        "utils.data.WeightedRandomSampler": (ValueError, lambda: torch.utils.data.WeightedRandomSampler([1.0], 0)),
        "Tensor.normal_": (RuntimeError, lambda: torch.ones(2).normal_(0, -1)),
        "Tensor.uniform_": (RuntimeError, lambda: torch.ones(2).uniform_(2, 1)),
        "Tensor.exponential_": (TypeError, lambda: torch.tensor([1]).exponential_()),
        "Tensor.bernoulli_": (RuntimeError, lambda: torch.ones(2).bernoulli_(2)),
        "Tensor.random_": (RuntimeError, lambda: torch.ones(2).random_(5, 2)),
        "Tensor.item": (RuntimeError, lambda: x.item()),
        "Tensor.size": (IndexError, lambda: x.size(5)),
        "Tensor.copy_": (RuntimeError, lambda: torch.ones(2).copy_(torch.ones(9))),
        "Tensor.squeeze_": (IndexError, lambda: torch.ones(2).squeeze_(5)),
        "Tensor.t_": (RuntimeError, lambda: images.t_()),
        "Tensor.register_hook": (RuntimeError, lambda: x.register_hook(print)),
        "Tensor.requires_grad_": (RuntimeError, lambda: whole.requires_grad_()),
        "Tensor.to": (RuntimeError, lambda: x.to("tpu")),
        "Tensor.addcmul_": (RuntimeError, lambda: torch.ones(2).addcmul_(torch.ones(3), torch.ones(2))),
    }


@pytest.mark.parametrize(("space", "calls"), [(mt, layers), (torch, modules)], ids=["Paddle's", "PyTorch's"])
def test_the_help_of_a_class_names_the_error_of_a_refused_call(space: Any, calls: Callable[[], dict[str, Any]]):
    for path, (kind, call) in calls().items():
        value = space
        for name in path.split("."):
            value = getattr(value, name)
        reported = inspect.getdoc(value).partition("Raises:")[2]
        assert re.search(rf"^    [\w, ]*\b{kind.__name__}\b[\w, ]*: ", reported, re.M), path
        with pytest.raises(kind):
            call()
