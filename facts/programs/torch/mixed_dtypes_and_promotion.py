import torch

i, f, d, b = torch.tensor([1, 2]), torch.tensor([0.5, 1.5]), torch.tensor([0.5, 1.5], dtype=torch.float64), torch.tensor([True, False])
print((i + f).dtype, (f + d).dtype, (b + i).dtype, (b + 1).dtype, (b + 1.5).dtype, (i / i).dtype, (i + 1.5).dtype)
print((i ** 2).dtype, (i ** 2.0).dtype, (2 ** i).dtype, (f * torch.tensor(2.0, dtype=torch.float64)).dtype)
print((i // 2).dtype, (f // 0.4), (i % 2), (-i // 2), torch.tensor([-7]) // 2, torch.tensor([-7]) % 3)
for text in ("i += f", "i += 1.5", "i *= 2", "f += d", "b += 1", "i /= 2", "b |= True", "f //= 1", "i **= 2"):
    try:
        exec(text)
        print(text, i, f, b)
    except RuntimeError as error:
        print(text, str(error).splitlines()[0])
    except TypeError as error:
        print(text, "TypeError")
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x.double() * d).sum()
y.backward()
print(y.dtype, x.grad)
try:
    torch.tensor([1, 2], requires_grad=True)
except RuntimeError as error:
    print(str(error).splitlines()[0])
try:
    torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float64)
except RuntimeError as error:
    print(str(error).splitlines()[0])
print(torch.cat([i, f]).dtype, torch.stack([f, d]).dtype, torch.where(b, i, f).dtype, torch.where(b, 1, 2.5).dtype)
print(i.sum().dtype, b.sum(), f.sum().dtype, i.float().mean(), i.prod().dtype, b.any(), b.all(), i.cumsum(0).dtype)
try:
    i.mean()
except RuntimeError as error:
    print(str(error).splitlines()[0])
print(torch.arange(3).dtype, torch.arange(3.0).dtype, torch.full((2,), 1).dtype, torch.full((2,), 1.0).dtype, torch.tensor(True).dtype, torch.tensor([]).dtype)
z = torch.zeros(2, dtype=torch.int32)
z[0] = 2.9
z[1] = torch.tensor(-2.9)
print(z, z.long().dtype, z.to(f).dtype, f.int())
