import paddle
from paddle.io import BatchSampler, DataLoader, Dataset, TensorDataset, random_split, Subset, SequenceSampler

class Squares(Dataset):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def __getitem__(self, i):
        return paddle.to_tensor([float(i)]).numpy(), i * i

    def __len__(self):
        return self.n

for x, y in DataLoader(Squares(5), batch_size=2, return_list=True):
    print(x.shape, y.numpy())
print(len(DataLoader(Squares(5), batch_size=2, drop_last=True)))
data = TensorDataset([paddle.arange(12, dtype="float32").reshape([6, 2]), paddle.arange(6)])
print(data[1][0].numpy(), len(data))
print([list(b) for b in BatchSampler(sampler=SequenceSampler(Squares(5)), batch_size=2)])
print(len(Subset(Squares(5), [1, 3])), Subset(Squares(5), [1, 3])[1][1])
print([len(part) for part in random_split(Squares(6), [4, 2])])
seen = []
for x, y in DataLoader(Squares(6), batch_size=4, shuffle=True):
    seen += y.numpy().reshape([-1]).tolist()
print(sorted(seen))
