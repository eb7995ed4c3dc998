import paddle

import numpy as np

x = paddle.arange(4, dtype="float32")
n = x.numpy()
n[0] = 99
print(x.tolist(), n.tolist())
c = paddle.to_tensor(n)
n[1] = 7
print(c.tolist())
print(np.asarray(c).dtype, c.numpy().sum())
w = paddle.ones([2])
w.stop_gradient = False
print(w.numpy().tolist(), (w * 2).numpy().tolist())
