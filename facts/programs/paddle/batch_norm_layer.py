import paddle
import paddle.nn as nn

m = nn.BatchNorm1D(2)
x = paddle.to_tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]])
print(m(x))
m.eval()
print(m(x))
print(list(m.state_dict()))
print([name for name, _ in m.named_parameters()])
print(len(m.parameters()))
