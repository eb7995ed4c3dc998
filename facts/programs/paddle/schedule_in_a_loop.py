import paddle

w = paddle.to_tensor([1.0], stop_gradient=False)
schedule = paddle.optimizer.lr.StepDecay(0.5, step_size=2, gamma=0.1)
opt = paddle.optimizer.Momentum(schedule, momentum=0.9, parameters=[w])
for i in range(5):
    (w * w).sum().backward()
    opt.step()
    opt.clear_grad()
    schedule.step()
    print(round(opt.get_lr(), 5), round(w.item(), 5))
