import torch

print(torch.iinfo(torch.int8), torch.iinfo(torch.int64))
print(torch.finfo(torch.float32), torch.finfo(torch.float64), torch.finfo(torch.float16))
generator = torch.Generator().manual_seed(3)
state = generator.get_state()
first = torch.rand(3, generator=generator)
generator.set_state(state)
print(torch.equal(first, torch.rand(3, generator=generator)), first)
