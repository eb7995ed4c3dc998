import paddle


def counter(start=paddle.zeros([1])):
    start.add_(paddle.ones([1]))
    return start


print(counter().item(), counter().item())


def rebinding(start=paddle.zeros([1])):
    start += 1
    return start


print(rebinding().item(), rebinding().item())
