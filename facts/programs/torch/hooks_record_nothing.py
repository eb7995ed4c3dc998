import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor(3.0, requires_grad=True)
seen = []

def look(g):
    seen.append((torch.is_grad_enabled(), g.requires_grad, (w * g).requires_grad))

y = x * w
y.register_hook(look)
x.register_hook(look)
x.register_post_accumulate_grad_hook(lambda p: seen.append(torch.is_grad_enabled()))
y.sum().backward(retain_graph=True)
print(seen, torch.is_grad_enabled())
seen.clear()
torch.autograd.grad(y.sum(), x, retain_graph=True)
print(seen)
seen.clear()
g, = torch.autograd.grad((y ** 2).sum(), x, create_graph=True)
print(seen, g.requires_grad)

def step(p):
    p.sub_(p.grad, alpha=0.1)
    p.grad = None

weights = [torch.tensor([1.0, -1.0], requires_grad=True) for _ in range(2)]
for p in weights:
    p.register_post_accumulate_grad_hook(step)
for _ in range(3):
    ((weights[0] * weights[1]) ** 2).sum().backward()
    print(weights[0].data, weights[1].data, weights[0].grad)
norms = []
w.register_hook(lambda g: norms.append(w * g))
(w * 2).backward()
print(norms[0], norms[0].requires_grad)
layer = torch.nn.Linear(2, 1)
layer.register_full_backward_hook(lambda m, i, o: seen.append(torch.is_grad_enabled()))
layer(x).sum().backward()
print(seen[-1])
def raises(g):
    raise ValueError("in the hook")
z = x * 2
z.register_hook(raises)
try:
    z.sum().backward()
except ValueError:
    print(torch.is_grad_enabled())
