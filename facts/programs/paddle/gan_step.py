import numpy as np
import paddle
import paddle.nn as nn

rng = np.random.RandomState(0)


def noise():
    return paddle.to_tensor(rng.randn(4, 2).astype("float32"))


G = nn.Linear(2, 2)
D = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid())
for p in G.parameters() + D.parameters():
    p.set_value(paddle.full(p.shape, 0.3))
opt_g = paddle.optimizer.SGD(0.1, parameters=G.parameters())
opt_d = paddle.optimizer.SGD(0.1, parameters=D.parameters())
bce = nn.BCELoss()
ones, zeros = paddle.ones([4, 1]), paddle.zeros([4, 1])
for i in range(2):
    real = noise() + 3
    fake = G(noise())
    d_loss = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    d_loss.backward()
    opt_d.step()
    opt_d.clear_grad()
    g_loss = bce(D(fake), ones)
    g_loss.backward()
    opt_g.step()
    opt_g.clear_grad()
    opt_d.clear_grad()
    print(f"{float(d_loss):.4f} {float(g_loss):.4f}")
