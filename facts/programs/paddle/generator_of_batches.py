import paddle


def batches(x, size):
    for i in range(0, len(x), size):
        yield x[i : i + size]


x = paddle.arange(5.0)
for b in batches(x, 2):
    b.scale_(2.0)
print(x)
gen = batches(x, 3)
first = next(gen)
first.zero_()
print(x, next(gen))
