from collections import namedtuple

import torch
from torch.utils.data import DataLoader, Dataset, default_collate

Sample = namedtuple("Sample", "x name")


class Named(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return torch.tensor(i), f"sample {i}", {"path": f"{i}.png", "size": (i, 2 * i)}


loader = DataLoader(Named(), batch_size=2, timeout=0, worker_init_fn=None, persistent_workers=False)
for x, names, about in loader:
    print(x, names, about)
print(loader.batch_sampler.batch_size, loader.num_workers, loader.collate_fn is default_collate)
print(default_collate(["a", "b"]), default_collate([("a", 1), ("b", 2)]), default_collate([["a"], ["b"]]))
print(default_collate([Sample(1.0, "a"), Sample(2.0, "b")]))
