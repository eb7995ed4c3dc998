import paddle

a = paddle.zeros([2])
b = a
a.set_value(paddle.to_tensor([1.0, 2.0]))
print(b)
c = paddle.zeros([2])
c.copy_(a, True)
print(c)
paddle.assign(paddle.to_tensor([5.0, 6.0]), output=c)
print(c)
print(a.clone() is a, paddle.assign(a) is a)
