import torch
import torch.nn.functional as F

logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 2.0], [1.0, 1.0, 1.0]], requires_grad=True)
target = torch.tensor([0, 2, -100])
print(F.cross_entropy(logits, target))
print(F.cross_entropy(logits, target, reduction="none"))
print(F.cross_entropy(logits, torch.tensor([0, 2, 1]), weight=torch.tensor([1.0, 2.0, 0.5])))
print(F.cross_entropy(logits, torch.tensor([0, 2, 1]), label_smoothing=0.1))
print(F.cross_entropy(logits, torch.tensor([0, 2, 1]), ignore_index=1))
F.cross_entropy(logits, target).backward()
print(logits.grad)
