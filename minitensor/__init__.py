"""minitensor: tensors that share, overwrite and protect memory, small enough to read.

It uses Paddle's names: ``stop_gradient``, ``inplace_version``, ``add_``. Every operation is one row of the derivative
table (:mod:`minitensor.engine.table`). The row determines the values that the operation saves, copies or refuses to
overwrite.

Read the files of ``minitensor/engine`` in this order, about 2,500 lines:

    1. core/storage.py              200   the bytes that writes change, and the version that counts the writes
    2. core/tensor.py               490   a view of a storage: shape, strides, offset
    3. core/history.py              430   recorded operations: nodes, and one history for all views of one base
    4. table/rows.py                160   an operation is one row; its rules name the tensors that backward needs
    5. operations/templates.py      460   the three functions generated from a row: normal, in place, backward
    6. saved/saved.py               130   save tensors for backward, and recover their values
    7. saved/writing.py             270   write: find the nodes that saved these bytes, write, raise the version
    8. autograd/backward_pass.py    370   backward visits the nodes and propagates gradients

Then print a generated function: ``print(minitensor.source("add_"))``. To follow a single write:

    x.add_(z)              source("add_"), generated from the row "add" in table/arithmetic.py
      may it be written?   core/history.py             is_protected, called by check_target
      save an input        source("sin")               its last lines
      who saved it?        saved/writing.py            before_write, after_write
      write the bytes      ``forward(a, b, a)``        forward is numpy's ``add``
      record the write     core/history.py             set_node
    y.sum().backward()     autograd/backward_pass.py   propagate; source("sin_backward") shows the rules
      is `x` unchanged?    saved/saved.py              recovered
      raise the error      core/errors.py              stale
"""

import warnings

from minitensor import device, nn, paddle
from minitensor.engine import operations
from minitensor.engine.autograd.gradients import grad
from minitensor.engine.core.printing import set_printoptions
from minitensor.engine.core.tensor import Tensor
from minitensor.engine.creation import drawing, moving
from minitensor.engine.creation.making import arange, full, full_like, ones, ones_like, to_tensor, zeros, zeros_like
from minitensor.engine.device.places import get_device, set_device
from minitensor.engine.dtypes import bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8
from minitensor.engine.dtypes import bool_ as bool
from minitensor.engine.modes import enable_grad, get_inplace_policy, is_grad_enabled, no_grad, set_inplace_policy
from minitensor.engine.operations.compiling import source
from minitensor.engine.random import seed
from minitensor.engine.sharing.dlpack import from_dlpack
from minitensor.engine.sharing.numpy_memory import from_numpy
from minitensor.engine.views import indexing, joining, parts, reshaping, scanning, set_resize_cast, transposing
from minitensor.paddle import contractions, counting, inspection, left_out, ordering, products

__version__ = "0.2.0"

# inf and nan are valid values, as in Paddle and PyTorch, so numpy's warnings about them are silenced in the engine.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minitensor\b")

for _module in (
    *(set_resize_cast, scanning, reshaping, transposing, parts, joining, drawing),
    *(inspection, ordering, products, contractions, counting),
):
    globals().update(_module.FUNCTIONS)

_OPERATIONS = frozenset(operations.found_in("m"))
_LATER = frozenset({*_OPERATIONS, *paddle.NAMES, *paddle.MODULES})


def __getattr__(name: str) -> object:
    """Compile or load a public name on first use: an operation of the table, ``optimizer``, ..."""
    if name not in _LATER:
        from minitensor.paddle.missing import missing

        raise missing(__name__, name, __dir__())
    found: object = operations.FUNCTIONS[name] if name in _OPERATIONS else paddle.found(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
