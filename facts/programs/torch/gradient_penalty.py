import torch
import torch.nn as nn

torch.manual_seed(3)
critic = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
real, fake = torch.randn(3, 2), torch.randn(3, 2)
alpha = torch.rand(3, 1)
mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
score = critic(mixed)
grad = torch.autograd.grad(
    outputs=score, inputs=mixed, grad_outputs=torch.ones_like(score), create_graph=True, retain_graph=True, only_inputs=True
)[0]
penalty = ((grad.norm(2, dim=1) - 1) ** 2).mean()
penalty.backward()
print(penalty)
print([None if p.grad is None else p.grad.norm().item() > 0 for p in critic.parameters()])
