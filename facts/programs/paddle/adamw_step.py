import paddle

w = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
opt = paddle.optimizer.AdamW(learning_rate=0.1, parameters=[w], weight_decay=0.1)
for i in range(3):
    (w ** 4).sum().backward()
    opt.step()
    opt.clear_grad()
print(w)
