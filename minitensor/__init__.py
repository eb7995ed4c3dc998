"""minitensor: tensors that share, overwrite and protect memory, small enough to read.

Its vocabulary is Paddle's: ``stop_gradient``, ``inplace_version``, ``add_``. Every operation is one row of the
derivative table (:mod:`minitensor.table`); what is saved, copied or refused in place follows from the row.

Read it in this order, about 2,490 lines:

    1. core/storage.py              200   what is overwritten: bytes, and a version that every write raises
    2. core/tensor.py               490   how one looks at a storage: shape, strides, offset
    3. core/history.py              430   where numbers came from: nodes, and what holds for all views of one base
    4. table/rows.py                160   an operation is one row; the names in its rules are what backward needs
    5. operations/templates.py      450   the function that is made of a row: normal, in place, backward
    6. saving/saved.py              130   what backward was promised, and how it asks for it
    7. saving/writing.py            270   a write: who saved these bytes, write, raise the version, tell them
    8. autograd/backward_pass.py    370   the way back through the nodes

and then ``print(minitensor.source("add_"))``, the function that comes of it. To follow one write by itself:

    x.add_(z)              source("add_"), made of the row "add" in table/arithmetic.py
      may it be written?   core/history.py             is_protected, asked by check_target
      who saves            source("sin")               its last lines
      who saved of it?     saving/writing.py           before_write, after_write
      the bytes            ``forward(a, b, a)``, which is numpy's ``add`` here
      the new value        core/history.py             set_node
    y.sum().backward()     autograd/backward_pass.py   propagate; the rules: source("sin_backward")
      is it as it was?     saving/saved.py             recovered
      the error            core/errors.py              stale
"""

import warnings

from minitensor import device, nn, operations, vocabulary
from minitensor.autograd.gradients import grad
from minitensor.core.printing import set_printoptions
from minitensor.core.tensor import Tensor
from minitensor.creation import drawing, moving
from minitensor.creation.making import (
    arange,
    full,
    full_like,
    ones,
    ones_like,
    to_tensor,
    zeros,
    zeros_like,
)
from minitensor.device.places import get_device, set_device
from minitensor.dtypes import bool_ as bool
from minitensor.dtypes import float32, float64, int32, int64
from minitensor.modes import enable_grad, get_inplace_policy, is_grad_enabled, no_grad, set_inplace_policy
from minitensor.operations.compiling import source
from minitensor.randomness import seed
from minitensor.sharing.borrowing import from_numpy
from minitensor.sharing.dlpack import from_dlpack
from minitensor.views import indexing, joining, parts, replacing, reshaping, scanning, transposing
from minitensor.vocabulary import asking, counting, left_out, ordering, products

__version__ = "0.1.0"

# inf and nan are values, as in Paddle and PyTorch: numpy's warnings about them stop at the engine.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"minitensor\b")

globals().update(
    {
        **replacing.FUNCTIONS,
        **scanning.FUNCTIONS,
        **reshaping.FUNCTIONS,
        **transposing.FUNCTIONS,
        **parts.FUNCTIONS,
        **joining.FUNCTIONS,
        **drawing.FUNCTIONS,
        **asking.FUNCTIONS,
        **ordering.FUNCTIONS,
        **products.FUNCTIONS,
        **counting.FUNCTIONS,
    }
)


_OPERATIONS = frozenset(operations.found_in("m"))
_LATER = frozenset({*_OPERATIONS, *vocabulary.NAMES, *vocabulary.MODULES, "explain"})


def __getattr__(name: str) -> object:
    """A name that is compiled or loaded when it is first looked up: an operation of the table, ``optimizer``, ..."""
    if name not in _LATER:
        from minitensor.vocabulary.missing import missing

        raise missing(__name__, name, __dir__())
    if name in _OPERATIONS:
        found: object = operations.FUNCTIONS[name]
    elif name == "explain":
        from minitensor.explaining import explain as found
    else:
        found = vocabulary.found(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
