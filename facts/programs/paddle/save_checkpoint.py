import os
import tempfile
import paddle
import paddle.nn as nn


def train(model, optimizer, schedule, steps):
    x = paddle.to_tensor([[1.0, 2.0], [3.0, -1.0]])
    y = paddle.to_tensor([[1.0], [0.0]])
    for _ in range(steps):
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        schedule.step()
    return float(loss)


model = nn.Linear(2, 1, weight_attr=nn.initializer.Constant(0.5))
schedule = paddle.optimizer.lr.StepDecay(0.1, 2, 0.5)
optimizer = paddle.optimizer.Adam(schedule, parameters=model.parameters())
print(optimizer.state_dict())
train(model, optimizer, schedule, 3)
with tempfile.TemporaryDirectory() as folder:
    paddle.save(model.state_dict(), os.path.join(folder, "model.pdparams"))
    paddle.save(optimizer.state_dict(), os.path.join(folder, "model.pdopt"))
    weights = paddle.load(os.path.join(folder, "model.pdparams"))
    averages = paddle.load(os.path.join(folder, "model.pdopt"))
print(type(weights).__name__, weights["weight"].stop_gradient, averages["LR_Scheduler"])
print(f"{train(model, optimizer, schedule, 3):.5f}", f"{optimizer.get_lr():.4f}")
print(model.set_state_dict(weights))
optimizer.set_state_dict(averages)
print(f"{train(model, optimizer, schedule, 3):.5f}", f"{optimizer.get_lr():.4f}")
