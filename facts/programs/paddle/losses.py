import paddle
import paddle.nn.functional as F

p = paddle.to_tensor([0.2, 0.7], stop_gradient=False)
t = paddle.to_tensor([0.0, 1.0])
print(F.mse_loss(p, t), F.l1_loss(p, t), F.smooth_l1_loss(p, t))
print(F.binary_cross_entropy(p, t), F.binary_cross_entropy_with_logits(p, t))
print(F.mse_loss(paddle.ones([3, 1]), paddle.ones([3])))
