import torch

x = torch.arange(4.0, requires_grad=True)
a, b = (x * 1).chunk(2)
try:
    a += 1
except RuntimeError as error:
    print(str(error)[:80])
c, d = (x * 1).split(2)
print(c + d)
for row in torch.ones(2, 2):
    row += 1
    print(row)
