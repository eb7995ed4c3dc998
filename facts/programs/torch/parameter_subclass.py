import torch
from torch import nn


class Named(nn.Parameter):
    pass


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = Named(torch.ones(2))

    def forward(self, x):
        return (x * self.weight).sum()


layer = Layer()
layer.weight.title = "the weight"
opt = torch.optim.SGD(layer.parameters(), lr=0.5)
layer(torch.arange(2.0)).backward()
opt.step()
print(type(layer.weight).__name__, layer.weight.title, isinstance(layer.weight, nn.Parameter))
print([name for name, _ in layer.named_parameters()], layer.weight.data, layer.weight.grad)
print(type(layer.weight * 1).__name__ != "Named", layer.load_state_dict({"weight": torch.zeros(2)}), layer.weight.data)
