import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    y = torch.sqrt(x - 1)
    z = (y * 0).sum()
    try:
        z.backward()
    except RuntimeError as error:
        print(error)
