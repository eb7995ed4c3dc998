import torch

torch.manual_seed(1)
x = torch.tensor(3.)
print(x, x.shape, x.item(), float(x), int(x), bool(x))
print(f"{x:.2f} {x}")
try: len(x)
except TypeError as error: print(error)
print(torch.tensor([]).shape, torch.tensor([[]]).shape, torch.empty(0).sum())
try: torch.tensor([]).max()
except RuntimeError as error: print(error)
try: bool(torch.ones(2))
except RuntimeError as error: print(error)
