import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from digits import load_digits


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 3, padding=1)
        self.fc1 = nn.Linear(16 * 2 * 2, 40)
        self.fc2 = nn.Linear(40, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return self.fc2(x)


digits = load_digits()
images = torch.tensor(digits.images / 16, dtype=torch.float32).unsqueeze(1)
labels = torch.tensor(digits.target, dtype=torch.int64)
torch.manual_seed(0)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for epoch in range(2):
    running_loss = 0.0
    for i in range(20):
        inputs, targets = images[i * 64 : (i + 1) * 64], labels[i * 64 : (i + 1) * 64]
        optimizer.zero_grad()
        loss = criterion(net(inputs), targets)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
        if i % 5 == 4:
            print(f"[{epoch + 1}, {i + 1:2d}] loss: {running_loss / 5:.3f}")
            running_loss = 0.0
with torch.no_grad():
    _, predicted = torch.max(net(images[1280:]), 1)
print((predicted == labels[1280:]).sum().item(), "of", len(images[1280:]))
print(net.conv1.weight.grad.shape, net.conv1.weight[0, 0])
