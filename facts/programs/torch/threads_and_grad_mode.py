import threading
import torch

x = torch.ones(1, requires_grad=True)
seen = []


def work():
    seen.append((x * 2).requires_grad)


with torch.no_grad():
    t = threading.Thread(target=work)
    t.start()
    t.join()
print(seen)
w = torch.ones(1, requires_grad=True)


def add():
    for _ in range(100):
        (w * 3).sum().backward()


threads = [threading.Thread(target=add) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(w.grad)
