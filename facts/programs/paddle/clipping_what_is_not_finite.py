import paddle
from paddle import nn

def stepped(clip, gradient):
    p = paddle.create_parameter([2], "float32", default_initializer=nn.initializer.Constant(1.0))
    q = paddle.create_parameter([1], "float32", default_initializer=nn.initializer.Constant(1.0))
    opt = paddle.optimizer.SGD(1.0, parameters=[p, q], grad_clip=clip)
    ((p * paddle.to_tensor(gradient)).sum() + q.sum()).backward()
    opt.step()
    return p.numpy(), q.numpy()

print(stepped(nn.ClipGradByNorm(1.0), [3.0, 4.0]))
print(stepped(nn.ClipGradByNorm(1.0), [float("nan"), 4.0]))
print(stepped(nn.ClipGradByValue(1.0), [float("inf"), 4.0]))
print(stepped(nn.ClipGradByGlobalNorm(1.0), [float("inf"), 4.0]))
p = paddle.create_parameter([2], "float32", default_initializer=nn.initializer.Constant(1.0))
q = paddle.create_parameter([1], "float32", default_initializer=nn.initializer.Constant(1.0))
((p * paddle.to_tensor([float("nan"), 1.0])).sum() + q.sum()).backward()
print(nn.utils.clip_grad_norm_([p, q], 1.0).item(), p.grad.numpy(), q.grad.numpy())
