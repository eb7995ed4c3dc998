import copy
import torch
from torch import nn


class Ema:
    """A slowly moving copy of a network, used as the teacher."""

    def __init__(self, net, decay):
        self.net = copy.copy(net)
        self.decay = decay

    def update(self, net):
        with torch.no_grad():
            for mine, theirs in zip(self.net.parameters(), net.parameters()):
                mine.mul_(self.decay).add_(theirs, alpha=1 - self.decay)


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 4)
        self.b = nn.Linear(4, 1)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


torch.manual_seed(0)
student = Student()
teacher = Ema(student, 0.9)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.randn(4, 2)
for step in range(2):
    out = student(x)
    teacher.update(student)
    with torch.no_grad():
        wanted = teacher.net(x)
    loss = (out - wanted).pow(2).mean() + out.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, loss.item())
