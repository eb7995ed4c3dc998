import copy
import paddle
import paddle.nn as nn

model = nn.Linear(2, 2)
best = model.state_dict()
safe = copy.deepcopy(model.state_dict())
with paddle.no_grad():
    model.weight.fill_(1.0)
print(best["weight"].tolist())
model.set_state_dict(safe)
print(bool((model.weight == 1.0).all()))
print(list(model.state_dict()))
