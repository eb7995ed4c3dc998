"""Gradients as results, user-defined operations, and a check of both against finite differences.

* :func:`grad` and :func:`backward`: gradients as results, and from several tensors at once.
* :class:`PyLayer`: an operation whose forward and backward are written by hand, also in place.
* :func:`gradcheck`: compares backward with finite differences, in the first and the second order.

This package also registers the gradient rules on tensors, so that second derivatives are made of operations.
"""

from minitensor.engine.autograd.context import PyLayerContext
from minitensor.engine.autograd.gradcheck import gradcheck
from minitensor.engine.autograd.gradients import grad
from minitensor.engine.autograd.py_layer import PyLayer
from minitensor.engine.autograd.rules import compiling as _compiling
from minitensor.engine.autograd.several_roots import backward

__all__ = ["PyLayer", "PyLayerContext", "backward", "grad", "gradcheck"]
