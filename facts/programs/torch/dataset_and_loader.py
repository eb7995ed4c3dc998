import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset


class Squares(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, i):
        return torch.tensor([float(i)]), torch.tensor([float(i * i)])


for x, y in DataLoader(Squares(), batch_size=2):
    print(x.squeeze(1), y.squeeze(1))
torch.manual_seed(0)
data = TensorDataset(torch.arange(6.0), torch.arange(6) % 2)
print(len(data), data[3])
for x, y in DataLoader(data, batch_size=4, shuffle=True, drop_last=True):
    print(x, y)
