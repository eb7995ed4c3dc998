"""Gradients on request, custom operations, and a check of both against finite differences.

* :func:`grad` and :func:`backward`: gradients as results, and from several tensors at once.
* :class:`PyLayer`: an operation with hand-written forward and backward functions, which may write in place.
* :func:`gradcheck`: compares backward with finite differences, in the first and the second order.
"""

from minitensor.engine.autograd.context import PyLayerContext
from minitensor.engine.autograd.gradcheck import gradcheck
from minitensor.engine.autograd.gradients import grad
from minitensor.engine.autograd.py_layer import PyLayer
from minitensor.engine.autograd.several_roots import backward

__all__ = ["PyLayer", "PyLayerContext", "backward", "grad", "gradcheck"]
