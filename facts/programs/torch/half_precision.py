import torch

x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float16)
print(x, x * 2, x.sum())
print(x.float().dtype, (x + torch.ones(3)).dtype)
b = torch.tensor([0.1]).bfloat16()
print(b, b.float())
u = torch.tensor([250, 10], dtype=torch.uint8)
print(u + 10, u.float() / 255)
