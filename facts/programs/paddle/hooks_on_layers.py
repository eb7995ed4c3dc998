import paddle
import paddle.nn as nn

m = nn.Linear(2, 2)
m.weight.set_value(paddle.ones([2, 2]))
seen = []
h = m.register_forward_post_hook(lambda layer, inp, out: seen.append(out.tolist()))
p = m.register_forward_pre_hook(lambda layer, inp: (inp[0] * 2,))
print(m(paddle.ones([1, 2])))
h.remove()
p.remove()
print(m(paddle.ones([1, 2])))
print(seen)
