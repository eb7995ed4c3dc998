import io
import torch

x = torch.arange(10.0)
buffer = io.BytesIO()
torch.save({"whole": x, "part": x[2:5], "again": x, "turned": x.reshape(2, 5).t()}, buffer)
buffer.seek(0)
loaded = torch.load(buffer)
print(loaded["whole"] is loaded["again"], loaded["part"].storage_offset(), loaded["turned"].stride())
loaded["whole"][2] = 99.0
print(loaded["part"])
print(loaded["turned"])
print(x[2])
small = io.BytesIO()
torch.save(x[2:4], small)
small.seek(0)
part = torch.load(small)
print(part, part.untyped_storage().nbytes())
small = io.BytesIO()
torch.save(x[2:4].clone(), small)
small.seek(0)
print(torch.load(small).untyped_storage().nbytes())
