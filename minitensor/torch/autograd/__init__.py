"""``torch.autograd``: backward, ``grad``, grad modes and anomaly detection.

The engine computes the gradients; this package adds PyTorch's arguments, checks and error messages.
"""

from minitensor.torch.autograd import function, functional, graph
from minitensor.torch.autograd.anomaly import detect_anomaly, set_detect_anomaly
from minitensor.torch.autograd.function import Function
from minitensor.torch.autograd.gradient_checks import gradcheck, gradgradcheck
from minitensor.torch.autograd.gradients import backward, grad
from minitensor.torch.autograd.modes import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from minitensor.torch.conversion import Variable
from minitensor.torch.errors import missing_in

__all__ = [
    *("backward", "detect_anomaly", "enable_grad", "Function", "functional", "function", "grad", "gradcheck"),
    *("gradgradcheck", "graph", "inference_mode", "is_grad_enabled", "no_grad", "set_detect_anomaly"),
    *("set_grad_enabled", "Variable"),
]

__getattr__ = missing_in("torch.autograd", lambda: __all__)
