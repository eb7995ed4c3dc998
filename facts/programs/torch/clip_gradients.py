import torch

w = torch.tensor([3.0, 4.0], requires_grad=True)
(w * w).sum().backward()
print(torch.nn.utils.clip_grad_norm_([w], 1.0))
print(w.grad)
torch.nn.utils.clip_grad_value_([w], 0.7)
print(w.grad)
