import paddle

w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
y = (w * w).sum()
with paddle.no_grad():
    w.scale_(10.0)
print(w, w.inplace_version)
y.backward()
