"""Apply the fixes of programs in which an iteration reaches the graph of an earlier one, or in which averages share
memory.

Each program is of a kind that public questions describe. With the fix, it has to run without a fault, and to print the
output of the correct program.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="PyTorch 2.10 or later is not installed")
ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))

from tests.support.peers.whole_runs import explained, written  # noqa: E402

BEGIN = "import torch\nfrom torch import nn\ntorch.manual_seed(0)\n"
END = "    opt.step()\nprint(round(loss.item(), 4))\n"

TUPLE = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(3, 4), nn.Linear(4, 1)
    def forward(self, x, state):
        out, state = self.lstm(x, state)
        return self.fc(out), state
def train():
    model = Model()
    opt = torch.optim.SGD(model.parameters(), 0.1)
    state = torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)
    for i in range(3):
        out, state = model(torch.randn(5, 2, 3), state)
        loss = out.pow(2).mean()
        opt.zero_grad()
        loss.backward(KEEP)
        opt.step()
        DETACHED
    print(round(loss.item(), 4))
train()
"""

PAIR = """
rnn = nn.LSTM(3, 4)
opt = torch.optim.SGD(rnn.parameters(), 0.1)
h, c = torch.zeros(1, 2, 4), torch.zeros(1, 2, 4)
for i in range(3):
    out, (h, c) = rnn(torch.randn(5, 2, 3), (h, c))
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward(KEEP)
    DETACHED
"""

ATTRIBUTE = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.state = nn.LSTM(3, 4), None
    def forward(self, x):
        DETACHED
        out, self.state = self.rnn(x, self.state)
        return out
model = Model()
opt = torch.optim.SGD(model.parameters(), 0.1)
for i in range(3):
    loss = model(torch.randn(5, 2, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward(KEEP)
"""

SUM = """
cell = nn.GRUCell(3, 5)
opt = torch.optim.SGD(cell.parameters(), 0.1)
h, loss = torch.zeros(2, 5), 0
for t in range(6):
    h = cell(torch.randn(2, 3), h)
    loss = loss + h.pow(2).mean()
    if t % 2 == 1:
        opt.zero_grad()
        loss.backward()
        opt.step()
        DETACHED
        h.detach_()
print(round(loss.item(), 4))
"""

BUFFER = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.register_buffer("memory", torch.zeros(4, 3))
    def forward(self, i, x):
        DETACHED
        WRITE
        return self.memory.mean(0)
model = Model()
opt = torch.optim.SGD(model.parameters(), 0.1)
for i in range(4):
    loss = model(i, torch.randn(3)).pow(2).sum()
    opt.zero_grad()
    loss.backward()
"""

LISTS = """
class Buffer:
    def __init__(self):
        self.actions, self.values, self.rewards = [], [], []
    def add(self, action, value, reward):
        self.actions.append(action)
        self.values.append(value)
        self.rewards.append(reward)
policy, critic = nn.Linear(4, 2), nn.Linear(4, 1)
opt = torch.optim.SGD([*policy.parameters(), *critic.parameters()], 0.01)
buffer = Buffer()
for step in range(12):
    state = torch.randn(4)
    buffer.add(policy(state).log_softmax(0)[0], critic(state), torch.randn(()))
    if step % 4 == 3:
        advantage = torch.stack(buffer.rewards) - torch.cat(buffer.values)
        loss = -(torch.stack(buffer.actions) * advantage.detach()).mean() + advantage.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        DETACHED
        opt.step()
        print(round(loss.item(), 4))
"""

TUPLES = """
class Agent:
    def __init__(self):
        self.policy, self.data = nn.Linear(3, 2), []
        self.opt = torch.optim.SGD(self.policy.parameters(), 0.1)
    def act(self, state):
        self.data.append((1.0, self.policy(state).log_softmax(0)[0]))
    def train(self):
        loss = 0
        for reward, action in self.data:
            loss = loss - action * reward
        self.opt.zero_grad()
        loss.backward()
        DETACHED
        self.opt.step()
        return loss.item()
agent = Agent()
for episode in range(3):
    for t in range(4):
        agent.act(torch.randn(3))
    print(round(agent.train(), 4))
"""

OUTER = """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
def update(loss):
    opt.zero_grad()
    loss.backward()
    opt.step()
    return round(loss.item(), 4)
def main():
    kept = []
    for step in range(6):
        kept.append(net(torch.randn(3)).sum())
        if step % 2 == 1:
            print(update(torch.stack(kept).pow(2).mean()))
            DETACHED
main()
"""

CONSTANT = """
policy = nn.Linear(4, 2)
opt = torch.optim.SGD(policy.parameters(), 0.1)
states, advantage = torch.randn(16, 4), torch.randn(16)
first = policy(states).log_softmax(1)
old = first[:, 0]DETACHED
for epoch in range(4):
    new = policy(states).log_softmax(1)[:, 0]
    ratio = (new - old).exp()
    loss = -(ratio * advantage).mean()
    opt.zero_grad()
    loss.backward()
"""

AVERAGE = """
net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
opt = torch.optim.SGD(net.parameters(), 0.1)
shadow = STATE
for i in range(5):
    opt.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    opt.step()
    for k, v in net.state_dict().items():
        if v.is_floating_point():
            shadow[k].mul_(0.9).add_(v, alpha=0.1)
print(round(sum(v.sum().item() for v in shadow.values()), 4))
"""


def with_parts(source: str, **parts: str) -> str:
    for name, part in parts.items():
        source = source.replace(name, part)
    return BEGIN + "".join(line + "\n" for line in source.splitlines() if line.strip())


def of_state(source: str, fix: str, before: str = "", **parts: str) -> tuple[str, str]:
    """Return a faulty program and the correct one."""
    faulty = {"KEEP": "retain_graph=True", **parts}
    correct = {"KEEP": "", **parts}
    return with_parts(source, DETACHED=before, **faulty), with_parts(source, DETACHED=fix, **correct)


PAIR_FIX = "h, c = h.detach(), c.detach()"
STATE_FIX = "self.state = None if self.state is None else tuple(x.detach() for x in self.state)"
COPIED = "{k: v.clone() for k, v in net.state_dict().items()}"
PROGRAMS = {
    "a tuple of states, with retain_graph": of_state(TUPLE, "state = tuple(x.detach() for x in state)"),
    "a tuple of states": of_state(TUPLE, "state = tuple(x.detach() for x in state)", KEEP=""),
    "two states, with retain_graph": of_state(PAIR + END, PAIR_FIX),
    "two states": of_state(PAIR + END, PAIR_FIX, KEEP=""),
    "a state in an attribute, with retain_graph": of_state(ATTRIBUTE + END, STATE_FIX),
    "a sum of losses beside a detached state": of_state(SUM, "loss = loss.detach()"),
    "a buffer that an item assignment fills": of_state(
        BUFFER + END, "self.memory = self.memory.detach()", WRITE="self.memory[i] = self.fc(x)"
    ),
    "a buffer that an augmented assignment fills": of_state(
        BUFFER + END, "self.memory = self.memory.detach()", WRITE="self.memory += self.fc(x)"
    ),
    "lists that one method fills": of_state(
        LISTS, "buffer.actions.clear(); buffer.values.clear(); buffer.rewards.clear()"
    ),
    "a list of the calling function": of_state(OUTER, "kept.clear()"),
    "a list of tuples": of_state(TUPLES, "self.data.clear()"),
    "a constant with a graph": of_state(CONSTANT + END, ".detach()"),
    "an average in the state dict itself": tuple(with_parts(AVERAGE, STATE=x) for x in ("net.state_dict()", COPIED)),
    "an average in a dict of the same tensors": tuple(
        with_parts(AVERAGE, STATE=x) for x in ("{k: v for k, v in net.state_dict().items()}", COPIED)
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_fix_gives_the_program_the_output_of_the_correct_one(name, tmp_path):
    faulty, correct = PROGRAMS[name]
    explanation, expected, error = explained(written(tmp_path, correct))
    assert error is None and explanation.faults == [], str(explanation)
    (fault,) = explained(written(tmp_path, faulty))[0].faults
    fix = next(each for each in fault.fixes if each.edits)
    again, output, error = explained(written(tmp_path, fix.apply(faulty)))
    assert error is None and again.faults == [], f"{fix.apply(faulty)}\n{again}"
    assert output == expected


CONSTANT_TARGETS = """
net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.Conv2d(2, 2, 3))
image = torch.rand(1, 1, 8, 8, requires_grad=True)
opt = torch.optim.SGD([image], 0.1)
def features():
    x, found = image, FOUND
    for i, layer in enumerate(net):
        x = layer(x)
        STORE
    return found
targets = features()
for i in range(3):
    now = features()
    loss = sum((now[i] - targets[i]).pow(2).mean() for i in range(3))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize("parts", [("{}", "found[i] = x"), ("[]", "found = [*found, x]")])
def test_a_container_of_constants_is_not_emptied(parts, tmp_path):
    found, store = parts
    source = with_parts(CONSTANT_TARGETS, FOUND=found, STORE=store)
    (fault,) = explained(written(tmp_path, source))[0].faults
    assert str(fault.verdict).startswith("`targets` carries the graph"), str(fault.verdict)
    (fix,) = fault.fixes
    assert str(fix.sentence).startswith("Detach the entries of `targets`") and not fix.edits
