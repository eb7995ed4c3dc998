import paddle

w = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
opt = paddle.optimizer.SGD(learning_rate=0.1, parameters=[w])
y = (w * w).sum()
y.backward(retain_graph=True)
opt.step()
opt.clear_grad()
y.backward()
print(w.grad)
