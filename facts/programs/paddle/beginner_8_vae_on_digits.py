import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F
from digits import load_digits

rng = np.random.default_rng(1)


class VAE(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 32)
        self.fc21 = nn.Linear(32, 4)
        self.fc22 = nn.Linear(32, 4)
        self.fc3 = nn.Linear(4, 32)
        self.fc4 = nn.Linear(32, 64)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = paddle.exp(0.5 * logvar)
        eps = paddle.to_tensor(rng.standard_normal(std.shape).astype("float32"))
        return mu + eps * std

    def decode(self, z):
        return F.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.reshape([-1, 64]))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.reshape([-1, 64]), reduction="sum")
    KLD = -0.5 * paddle.sum(1 + logvar - mu**2 - paddle.exp(logvar))
    return BCE + KLD


data = paddle.to_tensor((load_digits().images / 16).astype("float32"))
model = VAE()
for p in model.parameters():
    p.set_value((rng.standard_normal(p.shape) * 0.1).astype("float32"))
optimizer = paddle.optimizer.Adam(learning_rate=1e-2, parameters=model.parameters())
for epoch in range(2):
    train_loss = 0
    for i in range(0, 1280, 64):
        batch = data[i : i + 64]
        recon, mu, logvar = model(batch)
        loss = loss_function(recon, batch, mu, logvar)
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
        optimizer.clear_grad()
    print(f"epoch {epoch + 1}: {train_loss / 1280:.3f}")
with paddle.no_grad():
    sample = model.decode(paddle.zeros([1, 4]))
print(list(sample.shape), f"{sample.mean().item():.3f}")
