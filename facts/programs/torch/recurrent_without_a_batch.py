import torch
from torch import nn

def filled(module):
    with torch.no_grad():
        for k, p in enumerate(module.parameters()):
            p.copy_(torch.linspace(-0.5, 0.5, p.numel()).reshape(p.shape) * (k + 1))
    return module

x = torch.linspace(-1, 1, 8).reshape(4, 2)
for name in ("RNN", "GRU", "LSTM"):
    layer = filled(getattr(nn, name)(2, 3))
    out, state = layer(x)
    print(name, out.shape, out[-1])
    print((state if name != "LSTM" else state[1]).detach())
    again, _ = layer(x, state)
    print(again[-1].sum())
    batch, _ = layer(x.unsqueeze(1))
    print(torch.equal(batch[:, 0], out))
    cell = filled(getattr(nn, name + "Cell")(2, 3))
    print(cell(x[0]))
    for bad in (torch.ones(4, 3), torch.ones(2), torch.ones(1, 2, 3, 4)):
        for module in (layer, cell):
            try:
                print([each.shape for each in module(bad)])
            except (RuntimeError, ValueError) as error:
                print(type(error).__name__, error)
    hidden = torch.zeros(1, 5, 3)
    try:
        layer(x[:, None], (hidden, hidden) if name == "LSTM" else hidden)
    except RuntimeError as error:
        print(error)
    hidden = torch.zeros(5, 3)
    try:
        cell(x, (hidden, hidden) if name == "LSTM" else hidden)
    except RuntimeError as error:
        print(error)
