import torch

torch.manual_seed(1)
i = torch.tensor([1, 2])
f = torch.tensor([1.5, 2.5])
b = torch.tensor([True, False])
print(i + f, i * 2.5, i / 2, i // 2, i % 2, b + b, b * 2, i + b, f > 2, i ** 2, 2 ** i, 2.0 ** i, -i, i == f)
for op in ('i += f', 'b += 1', 'i /= 2', 'i *= 1.5', 'f += i', 'i -= 1', 'i //= 2', 'f //= 2', 'i **= 2', 'b &= b', 'b |= True', 'i <<= 1'):
    i = torch.tensor([1, 2]); f = torch.tensor([1.5, 2.5]); b = torch.tensor([True, False])
    try:
        exec(op); print(op, eval(op.split()[0]))
    except Exception as e: print(op, type(e).__name__, str(e).split(chr(10))[0])
