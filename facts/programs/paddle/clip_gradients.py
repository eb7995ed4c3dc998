import paddle

w = paddle.to_tensor([3.0, 4.0], stop_gradient=False)
clip = paddle.nn.ClipGradByGlobalNorm(clip_norm=1.0)
opt = paddle.optimizer.SGD(learning_rate=0.1, parameters=[w], grad_clip=clip)
(w * w).sum().backward()
opt.step()
print(w)
