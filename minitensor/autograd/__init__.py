"""Gradients on request, operations that a program defines, and a check of gradients against finite differences.

* :func:`grad` returns gradients; :func:`backward` starts one backward pass at several tensors.
* :class:`PyLayer` is the base class of operations whose forward and backward the program defines. Such an operation may
  write in place.
* :func:`gradcheck` compares first and, on request, second derivatives with finite differences.
"""

from minitensor.engine.autograd.context import PyLayerContext
from minitensor.engine.autograd.gradcheck import gradcheck
from minitensor.engine.autograd.gradients import grad
from minitensor.engine.autograd.py_layer import PyLayer
from minitensor.engine.autograd.several_roots import backward

__all__ = ["PyLayer", "PyLayerContext", "backward", "grad", "gradcheck"]
