import paddle

w = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(2.0))
opt = paddle.optimizer.Momentum(learning_rate=0.1, momentum=0.9, parameters=[w])
for i in range(3):
    (w ** 2).sum().backward()
    opt.step()
    opt.clear_grad()
    print(w.tolist())
print(opt.get_lr())
opt.set_lr(0.01)
print(opt.get_lr())
