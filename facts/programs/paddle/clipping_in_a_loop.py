import paddle

w = paddle.to_tensor([3.0, 4.0], stop_gradient=False)
clip = paddle.nn.ClipGradByGlobalNorm(1.0)
opt = paddle.optimizer.SGD(0.5, parameters=[w], grad_clip=clip)
for step in range(3):
    loss = (w * w).sum()
    loss.backward()
    opt.step()
    opt.clear_grad()
    print(f"{float(loss):.4f}", [round(v, 4) for v in w.tolist()])
