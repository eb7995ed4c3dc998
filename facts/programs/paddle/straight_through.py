import paddle

w = paddle.to_tensor([0.3, -0.7], stop_gradient=False)
(w + (paddle.round(w) - w).detach()).sum().backward()
print(w.grad)
q = paddle.sign(w)
q.sum().backward()
print(w.grad)
