import os
import tempfile
import paddle
import paddle.nn as nn

model = nn.Linear(2, 2)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.pdparams")
    paddle.save(model.state_dict(), path)
    state = paddle.load(path)
print(sorted(state), state["weight"].shape)
other = nn.Linear(2, 2)
other.set_state_dict(state)
print(bool((other.weight == model.weight).all()))
