import paddle

w = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
opt = paddle.optimizer.SGD(learning_rate=0.1, parameters=[w])
loss = (w * w).sum()
loss.backward()
opt.minimize(loss)
print(w)
opt.clear_grad()
print(w.grad)
