import numpy as np
import torch


class Env:
    def __init__(self):
        self.state = np.zeros(2, np.float32)

    def step(self):
        self.state += 1
        return self.state


torch.manual_seed(0)
env, memory = Env(), []
for _ in range(4):
    memory.append(torch.from_numpy(env.step().copy()))
batch = torch.stack(memory)
print(batch[:, 0].tolist())
