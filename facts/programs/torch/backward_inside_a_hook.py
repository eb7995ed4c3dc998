import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor(3.0, requires_grad=True)
seen = []

def again(g):
    with torch.enable_grad():
        inner = (w * g.detach()).sum()
    inner.backward()
    seen.append(w.grad.item())
    with torch.enable_grad():
        more, = torch.autograd.grad((w ** 2) * g.sum(), w)
    seen.append(more.item())
    return g + 1

y = x * w
y.register_hook(again)
(y ** 2).sum().backward()
print(seen, x.grad, w.grad)
def switch(g):
    seen.append(torch.is_grad_enabled())
    with torch.enable_grad():
        seen.append((g * w).requires_grad)
z = x * 2
z.register_hook(switch)
z.sum().backward()
print(seen[2:], torch.is_grad_enabled())
