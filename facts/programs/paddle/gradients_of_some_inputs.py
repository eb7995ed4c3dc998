import paddle

def parts():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    w = paddle.to_tensor([3.0, 4.0], stop_gradient=False)
    seen = []
    y = x * w
    y.register_hook(lambda g: seen.append("y"))
    return x, w, y, (y * y).sum(), seen

x, w, y, z, seen = parts()
g, = paddle.grad(z, [x], retain_graph=True)
print(g.numpy(), w.grad, seen)
g, = paddle.grad(z, [w], retain_graph=True)
print(g.numpy(), seen)
x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
w = paddle.to_tensor([3.0, 4.0], stop_gradient=False)
total = (x * 2).sum() + w.exp().sum()
print(paddle.grad(total, [x], retain_graph=True)[0].numpy(), paddle.grad(total, [w])[0].numpy())
fine, spoiled = (x * 2).exp(), w * 3
product = spoiled * spoiled
spoiled.add_(paddle.ones([2]))
print(paddle.grad((fine + product).sum(), [x])[0].numpy())
try:
    product.sum().backward()
except RuntimeError:
    print("stale", w.grad)
u = w * 2
u.register_hook(lambda g: seen.append("u"))
r = (x * u).sum() + (x ** 2).sum()
print(paddle.grad(r, [u], retain_graph=True)[0].numpy(), seen)
gx, gw = paddle.grad(r, [x, w], retain_graph=True)
print(gx.numpy(), gw.numpy(), seen)
