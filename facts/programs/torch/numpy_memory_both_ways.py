import torch

torch.manual_seed(1)
x = torch.arange(4.)
n = x.numpy()
n[0] = 99
print(x)
x[1] = -1
print(n)
c = torch.tensor(n)
n[2] = 7
print(c)
d = torch.as_tensor(n)
n[3] = 5
print(d, x)
w = torch.ones(2, requires_grad=True)
try: w.numpy()
except RuntimeError as error: print(error)
print(w.detach().numpy())
