import numpy as np
import paddle
from paddle import nn

rng = np.random.RandomState(0)
x = paddle.to_tensor(rng.randn(16, 2).astype("float32"))
y = x[:, 0:1] * 2 - x[:, 1:2]
model = nn.Linear(2, 1)
model.weight.set_value(paddle.zeros([2, 1]))
model.bias.set_value(paddle.zeros([1]))
opt = paddle.optimizer.SGD(learning_rate=0.1, parameters=model.parameters())
loss_fn = nn.MSELoss()
for epoch in range(5):
    loss = loss_fn(model(x), y)
    loss.backward()
    opt.step()
    opt.clear_grad()
    print(f"{epoch}: {float(loss):.4f}")
print(model.weight, model.bias)
print(model)
