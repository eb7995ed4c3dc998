import torch

order = []
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 3
z = y * y
x.register_hook(lambda g: order.append(("x", g.tolist())))
handle = y.register_hook(lambda g: g * 10)
z.register_hook(lambda g: order.append(("z", g.tolist())))
y.retain_grad()
x.register_post_accumulate_grad_hook(lambda p: order.append(("after", p.grad.tolist())))
z.sum().backward(retain_graph=True)
print(order, x.grad, y.grad)
handle.remove()
handle.remove()
order.clear()
x.grad = None
z.sum().backward()
print(order, x.grad)
w = torch.ones(2, requires_grad=True)
def bad(g):
    raise ValueError("from the hook")
v = w * 2
v.register_hook(bad)
try:
    v.sum().backward()
except ValueError as error:
    print(error, w.grad)
def wrong_shape(g):
    return torch.ones(3)
u = w * 2
u.register_hook(wrong_shape)
try:
    u.sum().backward()
except RuntimeError as error:
    print(str(error).splitlines()[0])
def in_place(g):
    g.mul_(5)
t = w * 2
s = w * 3
t.register_hook(in_place)
((t + s) * torch.tensor([1.0, 2.0])).sum().backward()
print(w.grad)
try:
    torch.zeros(2).register_hook(print)
except RuntimeError as error:
    print(str(error).splitlines()[0])
