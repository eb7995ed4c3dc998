import torch

points = torch.tensor([[0.0, 0.1], [0.2, -0.1], [5.0, 5.1], [4.9, 5.3], [-4.0, 4.0], [-4.2, 3.7]])
centres = points[[0, 2, 4]].clone()
for step in range(3):
    d = (points[:, None] - centres[None]).norm(dim=2)
    nearest = d.argmin(dim=1)
    onehot = torch.nn.functional.one_hot(nearest, 3).float()
    counts = onehot.sum(0).clamp(min=1)
    centres = (onehot.T @ points) / counts.unsqueeze(1)
    for k in range(3):
        mine = points[nearest == k]
        assert torch.allclose(mine.mean(0), centres[k])
print(nearest, centres)
sums = torch.zeros_like(centres).index_add_(0, nearest, points)
print(sums, torch.bincount(nearest, minlength=4))
print(d.min(dim=1).values, d.topk(2, largest=False).indices)
spread = torch.stack([(points[nearest == k] - centres[k]).pow(2).sum() for k in range(3)])
print(spread, (points - centres[nearest]).norm(dim=1))
values, order = torch.sort(points[:, 0], descending=True, stable=True)
print(values, order, torch.argsort(order))
print(torch.unique(nearest, return_counts=True))
sums.scatter_add_(0, nearest.unsqueeze(1).expand(-1, 2), points)
print(sums)
