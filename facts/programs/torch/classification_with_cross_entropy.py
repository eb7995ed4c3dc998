import torch
import torch.nn as nn

torch.manual_seed(0)
x = torch.cat([torch.randn(10, 2) - 2, torch.randn(10, 2) + 2])
y = torch.cat([torch.zeros(10), torch.ones(10)]).long()
model = nn.Linear(2, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for i in range(10):
    optimizer.zero_grad()
    out = model(x)
    loss = criterion(out, y)
    loss.backward()
    optimizer.step()
print(loss)
pred = model(x).argmax(dim=1)
print((pred == y).float().mean())
print(pred.eq(y).sum().item(), "/", len(y))
