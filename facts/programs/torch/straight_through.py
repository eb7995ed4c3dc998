import torch


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, g):
        return g


w = torch.tensor([0.3, -0.7], requires_grad=True)
(Sign.apply(w) * torch.tensor([1.0, 2.0])).sum().backward()
print(w.grad)
w.grad = None
(w + (torch.round(w) - w).detach()).sum().backward()
print(w.grad)
