import numpy as np
import paddle
from paddle import nn
from paddle.io import DataLoader, Dataset
from digits import load_digits


class Digits(Dataset):
    def __init__(self, first, last):
        super().__init__()
        digits = load_digits()
        self.images = (digits.images[first:last] / 16).astype("float32")
        self.labels = digits.target[first:last].astype("int64")

    def __getitem__(self, index):
        return self.images[index], self.labels[index]

    def __len__(self):
        return len(self.labels)


class NeuralNetwork(nn.Layer):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(64, 64),
            nn.ReLU(),
            nn.Linear(64, 32),
            nn.ReLU(),
            nn.Linear(32, 10),
        )

    def forward(self, x):
        return self.linear_relu_stack(self.flatten(x))


rng = np.random.default_rng(0)
model = NeuralNetwork()
for p in model.parameters():
    p.set_value((rng.standard_normal(p.shape) * 0.15).astype("float32"))
train_loader = DataLoader(Digits(0, 1280), batch_size=64)
test_data = Digits(1280, 1797)
loss_fn = nn.CrossEntropyLoss()
optimizer = paddle.optimizer.SGD(learning_rate=0.1, parameters=model.parameters())
for epoch in range(3):
    model.train()
    for batch, (X, y) in enumerate(train_loader):
        loss = loss_fn(model(X), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if batch % 5 == 0:
            print(f"loss: {loss.item():.4f}")
    model.eval()
    test_loss, correct = 0, 0
    with paddle.no_grad():
        for X, y in DataLoader(test_data, batch_size=64):
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).astype("float32").sum().item()
    print(f"accuracy: {correct / len(test_data):.3f}, loss: {test_loss / 9:.4f}")
