import torch

a = torch.tensor([1.0, 2.0])
b = a
a += 1
print(b)
a = a + 1
print(b)

def add_one(t):
    t += 1

c = torch.zeros(2)
add_one(c)
print(c, c._version)

def add_one_copy(t):
    t = t + 1
    return t

add_one_copy(c)
print(c)
