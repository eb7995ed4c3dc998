import torch


def counter(start=torch.zeros(1)):
    start += 1
    return start


print(counter(), counter(), counter())


def make():
    total = torch.zeros(1)

    def add(v):
        nonlocal total
        total += v
        return total

    return add


add = make()
add(2)
print(add(3))
