import paddle

x = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
handle = x.register_hook(lambda g: g * 10)
(x * x).sum().backward()
print(x.grad.tolist())
print(handle.remove())
x.clear_grad()
(x * x).sum().backward()
print(x.grad.tolist())
y = x * 2
y.register_hook(lambda g: print("at y", g.tolist()))
y.sum().backward()
