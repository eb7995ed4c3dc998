import torch
from torch import nn

torch.manual_seed(0)


class SignalLSTM(nn.Module):
    def __init__(self, hidden_dim, input_dim):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.lstm = nn.LSTM(input_dim, hidden_dim, batch_first=True)
        self.linear = nn.Linear(hidden_dim, 1)
        self.hidden = self.init_hidden()

    def init_hidden(self):
        return torch.zeros(1, 4, self.hidden_dim), torch.zeros(1, 4, self.hidden_dim)

    def forward(self, x):
        out, self.hidden = self.lstm(x, self.hidden)
        return self.linear(out[:, -1]).squeeze(-1)


def train(model, batches):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for x, y in batches:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        print(round(loss.item(), 4))


train(SignalLSTM(5, 3), [(torch.randn(4, 7, 3), torch.randn(4)) for _ in range(3)])
