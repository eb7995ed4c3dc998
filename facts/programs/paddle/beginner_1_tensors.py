import numpy as np
import paddle

x = paddle.to_tensor([[1, 2], [3, 4]])
print(x.tolist(), x.dtype == paddle.int64, list(x.shape))
a = np.array([[1.0, 2.0], [3.0, 4.0]], dtype="float32")
copied = paddle.to_tensor(a)
a += 1
print(copied.tolist(), copied.numpy().dtype)
ones = paddle.ones_like(copied)
print(ones.tolist(), list(paddle.zeros([2, 3]).shape), paddle.full([2], 7.0).tolist())
tensor = paddle.ones([4, 4])
print(tensor[0].tolist(), tensor[:, 0].tolist(), tensor[..., -1].tolist())
tensor[:, 1] = 0
print(tensor.tolist())
print(list(paddle.concat([tensor, tensor], axis=1).shape))
y1 = tensor @ tensor.t()
y2 = paddle.matmul(tensor, tensor, transpose_y=True)
print((y1 == y2).all().item())
total = (tensor * tensor).sum()
print(total.item(), type(total.item()))
tensor.add_(paddle.to_tensor(5.0))
print(tensor.tolist())
print(list(tensor.reshape([2, 8]).shape), paddle.transpose(tensor, [1, 0])[1].tolist())
n = tensor.numpy()
tensor.zero_()
print(n[0].tolist(), tensor[0].tolist())
