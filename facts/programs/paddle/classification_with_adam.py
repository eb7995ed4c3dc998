import numpy as np
import paddle
import paddle.nn as nn

rng = np.random.RandomState(1)
x = paddle.to_tensor(np.concatenate([rng.randn(10, 2) - 2, rng.randn(10, 2) + 2]).astype("float32"))
y = paddle.to_tensor([0] * 10 + [1] * 10)
model = nn.Linear(2, 2)
model.weight.set_value(paddle.to_tensor([[0.1, -0.1], [0.2, 0.1]]))
opt = paddle.optimizer.Adam(learning_rate=0.1, parameters=model.parameters())
criterion = nn.CrossEntropyLoss()
for i in range(10):
    loss = criterion(model(x), y)
    loss.backward()
    opt.step()
    opt.clear_grad()
print(loss)
pred = model(x).argmax(axis=1)
print((pred == y).astype("float32").mean())
