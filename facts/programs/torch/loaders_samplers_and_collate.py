import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split, Subset, ConcatDataset
from torch.utils.data import WeightedRandomSampler, SequentialSampler, BatchSampler

class Squares(Dataset):
    def __init__(self, n):
        self.n = n
    def __len__(self):
        return self.n
    def __getitem__(self, i):
        if i >= self.n:
            raise IndexError(i)
        return {"x": torch.tensor(float(i)), "y": i * i, "name": f"item {i}"}

for batch in DataLoader(Squares(5), batch_size=2):
    print(batch)
print(len(DataLoader(Squares(5), batch_size=2, drop_last=True)))
x = torch.arange(12.0).reshape(6, 2)
data = TensorDataset(x, torch.arange(6))
first = data[0][0]
first.add_(100)
print(x[0], first.data_ptr() == x.data_ptr())
for a, b in DataLoader(data, batch_size=4):
    a.zero_()
    print(b)
print(x[1])
g = torch.Generator().manual_seed(3)
shuffled = [b.tolist() for _, b in DataLoader(data, batch_size=3, shuffle=True, generator=g)]
print(sorted(sum(shuffled, [])))
print([list(b) for b in BatchSampler(SequentialSampler(data), 4, False)])
print(len(ConcatDataset([data, Subset(data, [1, 3])])), ConcatDataset([data, Subset(data, [1, 3])])[7])
parts = random_split(data, [4, 2], generator=torch.Generator().manual_seed(0))
print([len(p) for p in parts])
sampler = WeightedRandomSampler([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], 3)
print([b.tolist() for _, b in DataLoader(data, sampler=sampler, batch_size=2)])
try:
    next(iter(DataLoader([torch.ones(2), torch.ones(3)], batch_size=2)))
except RuntimeError as error:
    print("sizes")
