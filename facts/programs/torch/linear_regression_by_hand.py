import torch

x = torch.linspace(-1, 1, 20)
y = 3 * x + 2
w = torch.zeros(1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for epoch in range(50):
    loss = ((w * x + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.5 * w.grad
        b -= 0.5 * b.grad
    w.grad = None
    b.grad = None
    if epoch % 10 == 0:
        print(epoch, round(loss.item(), 5))
print(w, b)
