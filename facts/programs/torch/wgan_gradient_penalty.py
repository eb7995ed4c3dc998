import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
with torch.no_grad():
    for p in critic.parameters():
        p.copy_(torch.linspace(-1, 1, p.numel()).reshape(p.shape))
real = torch.tensor([[1.0, 0.5], [0.2, -0.3]])
fake = torch.tensor([[-1.0, 0.1], [0.4, 0.8]])
eps = torch.tensor([[0.25], [0.75]])
mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
d = critic(mixed)
grads = torch.autograd.grad(outputs=d, inputs=mixed, grad_outputs=torch.ones_like(d), create_graph=True, retain_graph=True)[0]
penalty = ((grads.view(2, -1).norm(2, dim=1) - 1) ** 2).mean()
loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
opt = torch.optim.RMSprop(critic.parameters(), lr=1e-2)
opt.zero_grad(set_to_none=True)
loss.backward()
print(penalty.item(), loss.item())
for name, p in critic.named_parameters():
    print(name, p.grad)
opt.step()
for p in critic.parameters():
    p.data.clamp_(-0.01, 0.01)
print(critic[0].weight)
