import paddle
import paddle.nn.functional as F

logits = paddle.to_tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]], stop_gradient=False)
print(F.softmax(logits), F.softmax(logits, axis=0))
print(F.cross_entropy(logits, paddle.to_tensor([0, 2])))
print(F.cross_entropy(logits, paddle.to_tensor([0, -100])))
print(F.cross_entropy(logits, paddle.to_tensor([[0], [2]]), reduction="none"))
print(F.softmax_with_cross_entropy(logits, paddle.to_tensor([[0], [2]])))
F.cross_entropy(logits, paddle.to_tensor([0, 2])).backward()
print(logits.grad)
