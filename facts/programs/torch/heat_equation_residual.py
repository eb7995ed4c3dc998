import torch

def network(tx, w1, w2):
    return torch.tanh(tx @ w1) @ w2

w1 = torch.tensor([[0.5, -0.3, 0.2], [0.1, 0.7, -0.6]], requires_grad=True)
w2 = torch.tensor([[1.0], [-0.5], [0.25]], requires_grad=True)
t = torch.tensor([[0.1], [0.2], [0.3]], requires_grad=True)
x = torch.tensor([[0.0], [0.5], [1.0]], requires_grad=True)
u = network(torch.cat([t, x], 1), w1, w2)
one = torch.ones_like(u)
ut, ux = torch.autograd.grad(u, (t, x), one, create_graph=True)
uxx, = torch.autograd.grad(ux, x, one, create_graph=True)
uxt, = torch.autograd.grad(ux, t, one, create_graph=True)
residual = ut - 0.3 * uxx
print(residual.squeeze(), uxt.squeeze())
loss = residual.square().mean()
loss.backward()
print(w1.grad, w2.grad.T)
print(t.grad, x.grad)
third = torch.autograd.grad(uxx.sum(), x, create_graph=True, allow_unused=True)
