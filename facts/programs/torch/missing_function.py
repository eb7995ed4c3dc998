import torch

torch.sigmoidd(torch.ones(2))
