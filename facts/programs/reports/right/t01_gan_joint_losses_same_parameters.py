import torch
from torch import nn

torch.manual_seed(0)


class Trainer:
    def __init__(self):
        self.gen = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4))
        self.dis = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())
        self.opt_g = torch.optim.Adam(self.gen.parameters(), lr=1e-3)
        self.opt_d = torch.optim.Adam(self.dis.parameters(), lr=1e-3)

    def losses(self, real):
        fake = self.gen(torch.randn(real.shape[0], 3))
        p_real, p_fake = self.dis(real), self.dis(fake)
        d_loss = -(torch.log(p_real) + torch.log(1 - p_fake)).mean()
        g_loss = torch.log(1 - p_fake).mean()
        return d_loss, g_loss

    def step(self, real):
        d_loss, g_loss = self.losses(real)
        of_gen, of_dis = list(self.gen.parameters()), list(self.dis.parameters())
        for parameters, loss in ((of_gen, g_loss), (of_dis, d_loss)):
            for p, gradient in zip(parameters, torch.autograd.grad(loss, parameters, retain_graph=True)):
                p.grad = gradient
        self.opt_d.step()
        self.opt_g.step()
        return d_loss.item(), g_loss.item()


trainer = Trainer()
for _ in range(2):
    print(trainer.step(torch.rand(5, 4)))
