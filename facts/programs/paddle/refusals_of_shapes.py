import paddle

def tried(what):
    try:
        what()
    except Exception as error:
        print(type(error).__name__)


tried(lambda: paddle.ones([2]) @ paddle.ones([3]))
tried(lambda: paddle.ones([2, 3]) + paddle.ones([2]))
tried(lambda: paddle.concat([paddle.ones([2, 3]), paddle.ones([3, 2])]))
tried(lambda: paddle.ones([2, 3]).reshape([5]))
tried(lambda: paddle.stack([paddle.ones([2]), paddle.ones([3])]))
tried(lambda: paddle.nn.Linear(3, 2)(paddle.ones([1, 2])))
tried(lambda: paddle.to_tensor([[1.0], [2.0, 3.0]]))
tried(lambda: paddle.ones([2]).add_(paddle.ones([2, 2])))
