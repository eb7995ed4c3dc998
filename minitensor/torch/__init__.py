"""PyTorch's vocabulary on minitensor's engine: ``import minitensor.torch as torch``.

Names, meanings, error messages and printed texts are PyTorch's: ``+=`` writes in place, ``split`` and ``expand`` return
views, ``round`` rounds half to even, and ``numpy()`` shares memory. Tensors and backward are the engine's: a tensor of
this package is a tensor of the engine with PyTorch's methods. If one operand of ``x + y`` or another operator has
PyTorch's methods and the other operand has Paddle's, the result has the class of the left operand; comparisons always
return a tensor of this package. A missing name raises an AttributeError that suggests the nearest name.
"""

import math as _math
from types import ModuleType as _ModuleType

from minitensor.device.cpu import get_num_threads, set_num_threads
from minitensor.torch import accelerator, amp, autograd, cuda, distributions, nn, optim, utils
from minitensor.torch import assembly as _assembly
from minitensor.torch import hide_paddle_names as _hide_paddle_names
from minitensor.torch.amp import autocast, get_autocast_dtype, is_autocast_enabled
from minitensor.torch.autograd import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from minitensor.torch.compiling import FUNCTIONS as _TABLE
from minitensor.torch.compiling import source
from minitensor.torch.creation import (
    arange,
    as_tensor,
    empty,
    eye,
    from_dlpack,
    from_numpy,
    full,
    linspace,
    logspace,
    ones,
    tensor,
    zeros,
)
from minitensor.torch.creation_like import empty_like, full_like, ones_like, zeros_like
from minitensor.torch.cuda import amp as _cuda_amp
from minitensor.torch.dtypes import (
    Size,
    bfloat16,
    device,
    dtype,
    finfo,
    float16,
    float32,
    float64,
    get_default_device,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    set_default_device,
    uint8,
)
from minitensor.torch.dtypes import bool_ as bool
from minitensor.torch.errors import missing_in as _missing_in
from minitensor.torch.generator import Generator, default_generator
from minitensor.torch.memory_formats import channels_last, contiguous_format, preserve_format
from minitensor.torch.operation_table import found_in as _found_in
from minitensor.torch.printing import set_printoptions
from minitensor.torch.random import (
    bernoulli,
    get_rng_state,
    initial_seed,
    manual_seed,
    normal,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
    seed,
    set_rng_state,
)
from minitensor.torch.serialization import load, save
from minitensor.torch.tensor import Tensor

inf, nan, pi, e = _math.inf, _math.nan, _math.pi, _math.e
half, float, double, short, int, long = float16, float32, float64, int16, int32, int64

globals().update(_assembly.FUNCTIONS)

#: The names of the functions that are rows of the derivative table. Each function is compiled on first use.
_LATER = frozenset(name for name in (*_found_in("torch"), *_found_in("torch_")) if name not in globals())


def __dir__() -> list[str]:
    modules = {"accelerator", "amp", "autograd", "cuda", "distributions", "nn", "optim", "random", "utils"}
    own = {name for name, value in globals().items() if name in modules or not isinstance(value, _ModuleType)}
    return sorted(name for name in own | _LATER if not name.startswith("_"))


_missing = _missing_in("torch", __dir__)


def __getattr__(name: str) -> object:
    if name not in _LATER:
        return _missing(name)
    function = globals()[name] = _TABLE[name]
    return function
