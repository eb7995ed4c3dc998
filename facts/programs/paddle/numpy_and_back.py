import numpy as np
import paddle

a = np.ones(3, dtype="float32")
t = paddle.to_tensor(a)
a += 1
print(t)
n = t.numpy()
n[0] = 50
print(t, n)
print(paddle.to_tensor(np.array([1.0, 2.0])).dtype, paddle.to_tensor([1.0, 2.0]).dtype)
w = paddle.ones([2])
w.stop_gradient = False
print(w.numpy())
