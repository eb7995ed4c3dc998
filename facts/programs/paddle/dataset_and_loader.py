import paddle
from paddle.io import DataLoader, Dataset, TensorDataset


class Squares(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, i):
        return float(i), float(i * i)


for x, y in DataLoader(Squares(), batch_size=2):
    print(x.tolist(), y.tolist())
data = TensorDataset([paddle.arange(4.0), paddle.arange(4) % 2])
print(len(data))
