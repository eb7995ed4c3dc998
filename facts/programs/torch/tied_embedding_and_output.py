import torch
from torch import nn

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(5, 3, padding_idx=0)
        self.out = nn.Linear(3, 5, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, ids):
        return self.out(self.embed(ids).mean(1))

model = Tied()
with torch.no_grad():
    model.embed.weight.copy_(torch.linspace(-1, 1, 15).reshape(5, 3))
print(len(list(model.parameters())), sorted(model.state_dict()))
ids = torch.tensor([[1, 2, 0], [4, 4, 1]])
loss = nn.CrossEntropyLoss()(model(ids), torch.tensor([2, 3]))
loss.backward()
print(loss.item(), model.out.weight.grad)
print(model.out.weight is model.embed.weight, model.out.weight.data_ptr() == model.embed.weight.data_ptr())
torch.optim.SGD(model.parameters(), lr=1.0).step()
print(model.embed.weight[1], model.embed(torch.tensor(3)).shape)
again = Tied()
print(again.load_state_dict(model.state_dict()))
print(torch.equal(again.out.weight, model.embed.weight), again.out.weight is again.embed.weight)
try:
    again.load_state_dict({"embed.weight": torch.zeros(5, 3)})
except RuntimeError as error:
    print(str(error).splitlines()[0])
print(again.load_state_dict({"embed.weight": torch.zeros(5, 3)}, strict=False))
