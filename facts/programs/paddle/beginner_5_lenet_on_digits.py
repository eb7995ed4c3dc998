import numpy as np
import paddle
import paddle.nn.functional as F
from digits import load_digits


class LeNet(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv1 = paddle.nn.Conv2D(in_channels=1, out_channels=6, kernel_size=3, padding=1)
        self.max_pool1 = paddle.nn.MaxPool2D(kernel_size=2, stride=2)
        self.conv2 = paddle.nn.Conv2D(in_channels=6, out_channels=16, kernel_size=3, padding=1)
        self.max_pool2 = paddle.nn.MaxPool2D(kernel_size=2, stride=2)
        self.linear1 = paddle.nn.Linear(in_features=16 * 2 * 2, out_features=40)
        self.linear2 = paddle.nn.Linear(in_features=40, out_features=10)

    def forward(self, x):
        x = self.max_pool1(F.relu(self.conv1(x)))
        x = self.max_pool2(F.relu(self.conv2(x)))
        x = paddle.flatten(x, start_axis=1, stop_axis=-1)
        x = F.relu(self.linear1(x))
        return self.linear2(x)


digits = load_digits()
images = paddle.to_tensor((digits.images / 16).astype("float32")).unsqueeze(1)
labels = paddle.to_tensor(digits.target.astype("int64"))
rng = np.random.default_rng(0)
model = LeNet()
for p in model.parameters():
    p.set_value((rng.standard_normal(p.shape) * 0.2).astype("float32"))
optim = paddle.optimizer.Momentum(learning_rate=0.02, momentum=0.9, parameters=model.parameters())
for epoch in range(2):
    running_loss = 0.0
    for i in range(20):
        x_data, y_data = images[i * 64 : (i + 1) * 64], labels[i * 64 : (i + 1) * 64]
        loss = F.cross_entropy(model(x_data), y_data)
        loss.backward()
        optim.step()
        optim.clear_grad()
        running_loss += loss.item()
        if i % 5 == 4:
            print(f"epoch: {epoch}, batch: {i + 1}, loss: {running_loss / 5:.3f}")
            running_loss = 0.0
model.eval()
with paddle.no_grad():
    predicted = model(images[1280:]).argmax(1)
print((predicted == labels[1280:]).astype("int64").sum().item(), "of", images[1280:].shape[0])
print(list(model.conv1.weight.shape), [f"{v:.3f}" for v in model.conv1.weight[0, 0].flatten().tolist()])
