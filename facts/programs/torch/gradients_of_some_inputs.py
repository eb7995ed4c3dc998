import torch

def parts():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    seen = []
    y = x * w
    for name, tensor in (("x", x), ("w", w), ("y", y)):
        tensor.register_hook(lambda g, name=name: seen.append(name))
    return x, w, y, (y * y).sum(), seen

x, w, y, z, seen = parts()
z.backward(inputs=[x], retain_graph=True)
print(x.grad, w.grad, seen)
print(torch.autograd.grad(z, w), seen)
x, w, y, z, seen = parts()
z.backward(inputs=[y])
print(y.grad, y.retains_grad, x.grad, seen)
print(torch.autograd.grad(y.sum(), x), seen)
x, w, y, z, seen = parts()
y.retain_grad()
z.backward(inputs=[x, y], retain_graph=True)
z.backward(inputs=[y])
print(x.grad, y.grad, w.grad, seen)
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
total = (x * 2).sum() + w.exp().sum()
print(torch.autograd.grad(total, x), torch.autograd.grad(total, w))
fine, spoiled = (x * 2).exp(), w * 3
product = spoiled * spoiled
spoiled.add_(1)
print(torch.autograd.grad((fine + product).sum(), x, retain_graph=True))
(fine + product).sum().backward(inputs=x, retain_graph=True)
print(x.grad)
try:
    (fine + product).sum().backward()
except RuntimeError as error:
    print("stale", w.grad)
for inputs in ([], ["x"], [torch.ones(2)]):
    try:
        (x * 2).sum().backward(inputs=inputs)
    except RuntimeError as error:
        print(str(error).splitlines()[0])
unused = torch.ones(2, requires_grad=True)
(x * 2).sum().backward(inputs=[unused])
print(unused.grad, x.grad)
