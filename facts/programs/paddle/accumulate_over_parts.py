import paddle
from paddle import nn

model = nn.Linear(2, 1)
model.weight.set_value(paddle.to_tensor([[0.5], [-0.5]]))
model.bias.set_value(paddle.zeros([1]))
data = paddle.arange(16, dtype="float32").reshape([8, 2]) / 10
target = data.sum(axis=1, keepdim=True)
nn.MSELoss()(model(data), target).backward()
reference = [p.grad.clone() for p in model.parameters()]
model.clear_gradients()
for part, goal in zip(paddle.split(data, 4), paddle.split(target, 4)):
    loss = nn.functional.mse_loss(model(part), goal, reduction="sum") / len(data)
    loss.backward()
print([bool(paddle.allclose(p.grad, r)) for p, r in zip(model.parameters(), reference)])
print(model.weight.grad.numpy().T)
opt = paddle.optimizer.SGD(0.5, parameters=model.parameters(), grad_clip=nn.ClipGradByGlobalNorm(0.1))
opt.step()
print(model.weight.numpy().T, model.bias.numpy())
opt.clear_grad()
print(model.weight.grad is None or model.weight.grad.abs().sum().item())
