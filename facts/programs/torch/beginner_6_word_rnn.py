import torch
from torch import nn

text = "a view shares memory and a copy owns memory and a write in place changes what a view shows"
words = text.split()
vocabulary = sorted(set(words))
index = {word: i for i, word in enumerate(vocabulary)}
tokens = torch.tensor([index[word] for word in words])
print(len(words), len(vocabulary))


class RNNModel(nn.Module):
    def __init__(self, kind, size=16):
        super().__init__()
        self.encoder = nn.Embedding(len(vocabulary), size)
        self.rnn = {"RNN": nn.RNN, "LSTM": nn.LSTM, "GRU": nn.GRU}[kind](size, size)
        self.decoder = nn.Linear(size, len(vocabulary))

    def forward(self, input, hidden=None):
        output, hidden = self.rnn(self.encoder(input), hidden)
        return self.decoder(output).view(-1, len(vocabulary)), hidden


for kind in ("RNN", "LSTM", "GRU"):
    torch.manual_seed(1)
    model = RNNModel(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for epoch in range(12):
        hidden, total = None, 0.0
        for i in range(0, len(tokens) - 7, 6):
            data, targets = tokens[i : i + 6].unsqueeze(1), tokens[i + 1 : i + 7]
            if hidden is not None:
                hidden = tuple(h.detach() for h in hidden) if isinstance(hidden, tuple) else hidden.detach()
            output, hidden = model(data, hidden)
            loss = nn.functional.cross_entropy(output, targets)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            total += loss.item()
        if epoch % 4 == 3:
            print(f"{kind} {total:.3f}")
    with torch.no_grad():
        output, _ = model(tokens[:6].unsqueeze(1))
    print([vocabulary[i] for i in output.argmax(1).tolist()])
