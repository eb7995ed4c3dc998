import torch

a, b = torch.ones(2, 2), torch.full((2, 2), 3.0)
out = torch.empty(2, 2)
torch.matmul(a, b, out=out)
print(out)
torch.add(a, b, out=out)
print(out)
torch.mul(a, b, out=a)
print(a)
w = torch.ones(2, 2, requires_grad=True)
try:
    torch.add(w, 1, out=torch.empty(2, 2))
except RuntimeError as error:
    print(error)
