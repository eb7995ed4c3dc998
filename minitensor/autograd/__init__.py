"""Gradients as results, user-defined operations, and a check of both against finite differences.

* :func:`grad` and :func:`backward`: gradients as results, and from several tensors at once.
* :class:`PyLayer`: an operation whose forward and backward are written by hand, also in place.
* :func:`gradcheck`: compares backward with finite differences, in the first and the second order.

This package also registers the gradient rules on tensors, so that second derivatives are made of operations.
May import: all that stands below ``autograd``.
"""

from minitensor.autograd.context import PyLayerContext
from minitensor.autograd.gradcheck import gradcheck
from minitensor.autograd.gradients import grad
from minitensor.autograd.py_layer import PyLayer
from minitensor.autograd.rules import compiling as _compiling
from minitensor.autograd.several_roots import backward

__all__ = ["PyLayer", "PyLayerContext", "backward", "grad", "gradcheck"]
