import torch

x = torch.arange(24.0).reshape(2, 3, 4)
print(x[:, [0, 2]].shape, x[[1, 0], :, [3, 2]].shape, x[..., None, 0].shape)
print(x[1, [True, False, True]], x[x > 20])
print(x[[0, 1], [1, 2], [2, 3]], x[torch.tensor([[0], [1]]), torch.tensor([1, 2])].shape)
y = x.clone().requires_grad_()
z = y[[0, 0, 1], 1]
z.sum().backward()
print(y.grad[:, 1])
w = x.clone()
w[[0, 0], 0] += 1
print(w[0, 0])
w[w < 3] = -1
w[:, :, 1:3] = torch.tensor([7.0, 8.0])
print(w[0])
w[1, [0, 2]] = w[1, [2, 0]]
print(w[1])
w[None].zero_()
print(w.sum())
w.index_fill_(1, torch.tensor([0, 2]), 4)
w.index_copy_(2, torch.tensor([3]), torch.full((2, 3, 1), 9.0))
print(w[0])
w.index_put_((torch.tensor([0, 0]), torch.tensor([0, 0]), torch.tensor([0, 0])), torch.tensor([1.0, 1.0]), accumulate=True)
print(w[0, 0])
print(torch.gather(x[0], 1, torch.tensor([[0, 3], [1, 1], [2, 0]])))
print(x[0].nonzero(as_tuple=True)[0].shape, torch.where(x[0] > 5)[1])
for bad in ("x[2]", "x[0, 0, 0, 0]", "x[[0, 5]]", "x[x[0] > 1]", "x[1.5]"):
    try:
        eval(bad)
    except (IndexError, TypeError) as error:
        print(type(error).__name__, bad)
print(x[True].shape, x[False].shape, x[0:0].shape, x[:, -2:].shape, x[..., ::2].shape)
m = torch.zeros(3, dtype=torch.bool)
x[:, m].add_(1)
m[1] = True
x[:, m] += 100
print(x[:, 1, 0], x[:, m].stride())
