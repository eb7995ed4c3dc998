import threading
import paddle

x = paddle.ones([1])
x.stop_gradient = False
seen = []


def work():
    seen.append((x * 2).stop_gradient)


with paddle.no_grad():
    t = threading.Thread(target=work)
    t.start()
    t.join()
print(seen)
