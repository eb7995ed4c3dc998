import paddle
from paddle import nn

critic = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
with paddle.no_grad():
    for p in critic.parameters():
        p.set_value(paddle.linspace(-1, 1, p.size).reshape(p.shape))
real = paddle.to_tensor([[1.0, 0.5], [0.2, -0.3]])
fake = paddle.to_tensor([[-1.0, 0.1], [0.4, 0.8]])
eps = paddle.to_tensor([[0.25], [0.75]])
mixed = eps * real + (1 - eps) * fake
mixed.stop_gradient = False
d = critic(mixed)
g = paddle.grad(outputs=d, inputs=mixed, grad_outputs=paddle.ones_like(d), create_graph=True, retain_graph=True)[0]
norm = paddle.sqrt((g.reshape([2, -1]) ** 2).sum(axis=1))
penalty = ((norm - 1) ** 2).mean()
loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
loss.backward()
print(round(penalty.item(), 5), round(loss.item(), 5))
for p in critic.parameters():
    print(p.shape, p.grad.numpy() if p.grad is not None else None)
