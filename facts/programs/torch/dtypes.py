import torch

a = torch.tensor([1, 2, 3])
b = torch.tensor([1.0, 2.0, 3.0])
print(a.dtype, b.dtype, (a + b).dtype, (a / 2).dtype, (a // 2).dtype)
print(torch.tensor([1, 2], dtype=float))
print(torch.ones(2, dtype=int), torch.zeros(2, dtype=bool))
print(b.double().dtype, b.long(), b.half().dtype, a.float())
print(torch.tensor(3.7).int(), torch.tensor([0.0, 0.5]).bool())
try:
    a += 0.5
except RuntimeError as error:
    print(error)
try:
    a.mean()
except RuntimeError as error:
    print(error)
print(b.type(), b.type(torch.LongTensor))
