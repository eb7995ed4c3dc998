import paddle

x = paddle.ones([2])
x.stop_gradient = False
with paddle.no_grad():
    y = x * 2
print(y.stop_gradient, y)
z = (x * 3).detach()
print(z.stop_gradient)
z.add_(paddle.ones([2]))
print(x, z)
d = x.detach()
d[0] = 50.0
print(x)


@paddle.no_grad()
def f(t):
    return t * 2


print(f(x).stop_gradient)
