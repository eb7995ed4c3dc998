import copy
import io
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(2, 2)
best = model.state_dict()
safe = copy.deepcopy(model.state_dict())
with torch.no_grad():
    model.weight.fill_(1.0)
print(best["weight"])
model.load_state_dict(safe)
print(model.weight)
buffer = io.BytesIO()
torch.save(model.state_dict(), buffer)
buffer.seek(0)
other = nn.Linear(2, 2)
print(other.load_state_dict(torch.load(buffer)))
print(torch.equal(other.weight, model.weight))
