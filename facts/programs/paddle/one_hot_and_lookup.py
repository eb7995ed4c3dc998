import paddle
import paddle.nn.functional as F

labels = paddle.to_tensor([2, 0, 1])
hot = F.one_hot(labels, num_classes=4)
print(hot)
table = paddle.arange(8.0).reshape([4, 2])
table.stop_gradient = False
print(hot @ table)
paddle.gather(table, labels).sum().backward()
print(table.grad)
