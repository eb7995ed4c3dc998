import numpy as np
import paddle
from paddle import nn

text = "a view shares memory and a copy owns memory and a write in place changes what a view shows"
words = text.split()
vocabulary = sorted(set(words))
index = {word: i for i, word in enumerate(vocabulary)}
tokens = paddle.to_tensor([index[word] for word in words])
print(len(words), len(vocabulary))


class RNNModel(nn.Layer):
    def __init__(self, kind, size=16):
        super().__init__()
        self.encoder = nn.Embedding(len(vocabulary), size)
        self.rnn = {"RNN": nn.SimpleRNN, "LSTM": nn.LSTM, "GRU": nn.GRU}[kind](size, size)
        self.decoder = nn.Linear(size, len(vocabulary))

    def forward(self, input, hidden=None):
        output, hidden = self.rnn(self.encoder(input), hidden)
        return self.decoder(output).reshape([-1, len(vocabulary)]), hidden


for kind in ("RNN", "LSTM", "GRU"):
    rng = np.random.default_rng(1)
    model = RNNModel(kind)
    for p in model.parameters():
        p.set_value((rng.standard_normal(p.shape) * 0.2).astype("float32"))
    clip = nn.ClipGradByGlobalNorm(0.5)
    optimizer = paddle.optimizer.Adam(learning_rate=0.02, parameters=model.parameters(), grad_clip=clip)
    for epoch in range(12):
        hidden, total = None, 0.0
        for i in range(0, len(words) - 7, 6):
            data, targets = tokens[i : i + 6].unsqueeze(0), tokens[i + 1 : i + 7]
            if hidden is not None:
                hidden = tuple(h.detach() for h in hidden) if isinstance(hidden, tuple) else hidden.detach()
            output, hidden = model(data, hidden)
            loss = nn.functional.cross_entropy(output, targets)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            total += loss.item()
        if epoch % 4 == 3:
            print(f"{kind} {total:.3f}")
    with paddle.no_grad():
        output, _ = model(tokens[:6].unsqueeze(0))
    print([vocabulary[i] for i in output.argmax(1).tolist()])
