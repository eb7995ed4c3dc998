import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
seen = {}

def keep(name):
    def hook(module, inputs, output):
        seen[name] = output.detach()
    return hook

handles = [layer.register_forward_hook(keep(i)) for i, layer in enumerate(net)]
net(torch.ones(1, 2))
print(seen)
for h in handles:
    h.remove()
seen.clear()
net(torch.ones(1, 2))
print(seen)
