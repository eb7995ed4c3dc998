import os
import tempfile
import torch
from torch import nn, optim


def train(model, optimizer, schedule, steps):
    x = torch.tensor([[1.0, 2.0], [3.0, -1.0]])
    y = torch.tensor([[1.0], [0.0]])
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        schedule.step()
    return loss.item()


def begun():
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    return model, optimizer, optim.lr_scheduler.StepLR(optimizer, 2, 0.5)


model, optimizer, schedule = begun()
train(model, optimizer, schedule, 3)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "checkpoint.pt")
    torch.save(
        {
            "epoch": 3,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "schedule": schedule.state_dict(),
            "size": model.weight.shape,
            "dtype": model.weight.dtype,
        },
        path,
    )
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
print(checkpoint["epoch"], checkpoint["size"], checkpoint["dtype"], sorted(checkpoint["optimizer"]["state"][0]))
print(type(checkpoint["model"]).__name__, checkpoint["optimizer"]["param_groups"][0]["lr"])
print(f"{train(model, optimizer, schedule, 3):.5f}")
model, optimizer, schedule = begun()
print(model.load_state_dict(checkpoint["model"]))
optimizer.load_state_dict(checkpoint["optimizer"])
schedule.load_state_dict(checkpoint["schedule"])
print(f"{train(model, optimizer, schedule, 3):.5f}", schedule.get_last_lr())
