import os
import tempfile
import paddle

x = paddle.arange(10, dtype="float32")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "made", "here", "views.pdtensor")
    paddle.save({"whole": x, "part": x[2:5], "again": x}, path)
    loaded = paddle.load(path)
    arrays = paddle.load(path, return_numpy=True)
print(loaded["whole"] is loaded["again"], type(arrays["part"]).__name__, arrays["part"])
loaded["whole"][2] = 99.0
print(loaded["part"])
print(loaded["again"])
w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "one")
    paddle.save(w, path)
    print(paddle.load(path))
    paddle.save({"step": 3, "rate": 0.5, "name": "run", "list": [1, 2.5, None, True], "w": [w, w]}, path)
    print(paddle.load(path))
with tempfile.TemporaryDirectory() as folder:
    try:
        paddle.save(paddle.nn.Linear(1, 1), os.path.join(folder, "net.pdparams"))
    except ValueError as error:
        print("ValueError")
print(paddle.load("not-there.pdparams"))
