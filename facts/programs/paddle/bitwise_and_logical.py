import paddle

a = paddle.to_tensor([True, False, True])
b = paddle.to_tensor([True, True, False])
print(a & b, a | b, a ^ b, ~a)
i = paddle.to_tensor([5, 6])
print(i & paddle.to_tensor([3, 3]), i | paddle.to_tensor([8, 8]))
print((paddle.to_tensor([1.0, 2.0, 3.0]) > 1) & (paddle.to_tensor([1.0, 2.0, 3.0]) < 3))
print(paddle.logical_and(a, b), paddle.logical_not(a))
