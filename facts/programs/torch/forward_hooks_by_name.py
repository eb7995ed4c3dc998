import torch
from torch import nn


class Scale(nn.Module):
    def forward(self, x, factor=1.0):
        if factor < 0:
            raise ValueError("negative")
        return x * factor


scale = Scale()
calls = []
scale.register_forward_hook(lambda module, args, kwargs, out: calls.append(("after", kwargs)), with_kwargs=True)
scale.register_forward_hook(lambda module, args, out: calls.append(("first", out)), prepend=True)
always = scale.register_forward_hook(lambda module, args, out: calls.append(("always", out)), always_call=True)
double = scale.register_forward_pre_hook(
    lambda module, args, kwargs: (args, {"factor": 2 * kwargs.get("factor", 1.0)}), with_kwargs=True
)
scale.register_forward_pre_hook(lambda module, args: args[0] + 1, prepend=True)
print(scale(torch.ones(1), factor=3.0))
print(calls)
calls.clear()
try:
    scale(torch.ones(1), factor=-1.0)
except ValueError as error:
    print(error, calls)
always.remove()
double.remove()
print(scale(torch.ones(1), factor=3.0))
