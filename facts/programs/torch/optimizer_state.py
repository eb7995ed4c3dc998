import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
opt = torch.optim.Adam([w], lr=0.1)
for i in range(3):
    opt.zero_grad()
    (w ** 2).sum().backward()
    opt.step()
print(w)
state = opt.state_dict()
print(state["state"][0]["step"], state["param_groups"][0]["lr"])
v = torch.tensor([1.0, 2.0], requires_grad=True)
opt2 = torch.optim.Adam([v], lr=0.5)
opt2.load_state_dict(state)
print(opt2.param_groups[0]["lr"])
(v ** 2).sum().backward()
opt2.step()
print(v)
