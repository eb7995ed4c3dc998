import torch
from torch import nn

net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.AdamW([{"params": net[0].parameters(), "weight_decay": 0.0}, {"params": net[1].parameters()}], lr=0.1)
print(opt)
print([list(group) for group in opt.param_groups])
print(opt.state_dict()["param_groups"])
opt = torch.optim.SGD(net.named_parameters(), lr=0.1, momentum=0.9)
print(opt.param_groups[0]["param_names"])
print(opt)
net(torch.ones(1, 2)).sum().backward()
opt.step()
again = torch.optim.SGD(net.named_parameters(), lr=0.5, momentum=0.9)
again.load_state_dict(opt.state_dict())
print(again.param_groups[0]["lr"], again.param_groups[0]["param_names"], len(again.state))
for params in ([("weight", net[0].weight), net[0].bias], net[0].weight):
    try:
        torch.optim.SGD(params, lr=0.1)
    except (TypeError, ValueError) as error:
        print(error)
