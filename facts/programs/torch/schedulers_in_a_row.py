import torch
from torch.optim import SGD, lr_scheduler as sched

def rates(make, steps=6):
    p = torch.zeros(1, requires_grad=True)
    opt = SGD([p], lr=1.0)
    s = make(opt)
    out = []
    for _ in range(steps):
        p.grad = torch.ones(1)
        opt.step()
        out.append(round(opt.param_groups[0]["lr"], 5))
        s.step()
    return out, round(p.item(), 4), s.get_last_lr()

print(rates(lambda o: sched.StepLR(o, 2, gamma=0.5)))
print(rates(lambda o: sched.MultiStepLR(o, [1, 4], gamma=0.1)))
print(rates(lambda o: sched.ExponentialLR(o, 0.9)))
print(rates(lambda o: sched.CosineAnnealingLR(o, T_max=4, eta_min=0.1)))
print(rates(lambda o: sched.LambdaLR(o, lambda e: 1 / (e + 1))))
print(rates(lambda o: sched.LinearLR(o, 0.25, total_iters=4)))
p = torch.zeros(1, requires_grad=True)
opt = SGD([p], lr=1.0)
