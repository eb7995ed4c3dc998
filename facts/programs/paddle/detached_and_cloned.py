import paddle

a = paddle.ones([2])
a.stop_gradient = False
with paddle.no_grad():
    b = a * 2
print(b.stop_gradient)
c = (a * 2).detach()
print(c.stop_gradient)
d = a * 2
e = d.detach()
e.zero_()
print(d.tolist())
f = a.clone()
f.scale_(3.0)
f.sum().backward()
print(a.grad.tolist())
