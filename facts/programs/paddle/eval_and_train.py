import paddle

import paddle.nn as nn

drop = nn.Dropout(0.5)
drop.eval()
print(drop(paddle.ones([3])).tolist())
net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.2), nn.ReLU())
net.eval()
print([layer.training for layer in net.sublayers()])
net.train()
print([layer.training for layer in net.sublayers()])
print(nn.Softmax()(paddle.to_tensor([0.0, 0.0])).tolist())
