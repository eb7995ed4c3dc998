import paddle

w = paddle.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
sched = paddle.optimizer.lr.StepDecay(learning_rate=1.0, step_size=2, gamma=0.1)
opt = paddle.optimizer.SGD(learning_rate=sched, parameters=[w])
for epoch in range(5):
    (w * w).sum().backward()
    opt.step()
    opt.clear_grad()
    sched.step()
    print(epoch, opt.get_lr())
