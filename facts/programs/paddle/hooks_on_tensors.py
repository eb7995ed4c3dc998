import paddle

x = paddle.ones([2])
x.stop_gradient = False
y = x * 3
y.register_hook(lambda g: print("gradient of y:", g))
handle = x.register_hook(lambda g: g * 10)
y.sum().backward()
print(x.grad)
handle.remove()
x.clear_grad()
(x * 3).sum().backward()
print(x.grad)
