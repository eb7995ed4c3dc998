import torch

torch.manual_seed(1)
x = torch.zeros(2, 3)
x[:, 0] = torch.tensor([1., 2.])
x[1] = 7
x[x > 5] = -1
print(x)
x[..., -1] += 1
print(x)
x[None]
print(x[None].shape, x[:, None].shape, x[0, 1].shape)
print(x[[0, 1], [1, 2]], x[torch.tensor([True, False])], x[:, [0, 2]])
x[[0, 1], [1, 2]] += 100
print(x)
x[torch.tensor([0, 0]), torch.tensor([0, 0])] += 1
print(x)
