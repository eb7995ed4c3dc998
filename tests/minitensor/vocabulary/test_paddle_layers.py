"""Test layers of Paddle's vocabulary: registration, lookup, saved states, training and refused calls."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import minitensor as paddle
from minitensor import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.shared = self.first
        self.rest = nn.Sequential(nn.ReLU(), ("last", nn.Linear(4, 2)))
        self.scale = self.create_parameter([2], default_initializer=nn.initializer.Constant(2.0))
        self.register_buffer("count", paddle.zeros([1]))
        self.register_buffer("scratch", paddle.zeros([1]), persistable=False)

    def forward(self, x):
        return self.rest(self.first(x)) * self.scale


def test_a_layer_registered_twice_is_listed_once():
    net = Net()
    names = [name for name, _ in net.named_parameters()]
    assert names == ["scale", "first.weight", "first.bias", "rest.last.weight", "rest.last.bias"]
    assert [name for name, _ in net.named_sublayers()] == ["first", "rest", "rest.0", "rest.last"]
    assert len(net.parameters()) == 5 and net.parameters(include_sublayers=False) == [net.scale]
    assert [name for name, _ in net.named_buffers()] == ["count", "scratch"]


def test_a_child_under_two_names_is_listed_once_and_saved_under_both():
    """Paddle 2.6.2 and 3.3.1 do the same."""
    layer = nn.Linear(1, 1)
    twice = nn.Sequential(layer, nn.ReLU(), layer)
    assert [name for name, _ in twice.named_children()] == ["0", "1"]
    assert [each is layer for each in twice.children()] == [True, False]
    assert list(twice.state_dict()) == ["0.weight", "0.bias", "2.weight", "2.bias"]


def test_a_parameter_under_two_names_is_listed_once():
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight = first.weight
    both = nn.Sequential(first, second)
    assert [name for name, _ in both.named_parameters()] == ["0.weight", "0.bias", "1.bias"]
    assert both.state_dict()["1.weight"] is first.weight


def test_a_parameter_can_be_created_without_a_gradient():
    layer = nn.Linear(2, 2, weight_attr=nn.ParamAttr(trainable=False), bias_attr=nn.initializer.Constant(3.0))
    layer(paddle.ones([1, 2])).sum().backward()
    assert layer.weight.grad is None and not layer.weight.trainable
    assert layer.bias.tolist() == [3.0, 3.0] and layer.bias.grad.tolist() == [1.0, 1.0]


def test_state_dict_contains_the_tensors_themselves_without_non_persistable_buffers():
    net = Net()
    state = net.state_dict()
    assert state["first.weight"] is net.first.weight and state["count"] is net.count
    assert "scratch" not in state and state["shared.weight"] is state["first.weight"]


def test_set_state_dict_writes_each_parameter_once_and_keeps_the_tensor_objects(device):
    net, other = Net(), Net()
    before = net.first.weight
    assert net.set_state_dict({name: x.numpy() for name, x in other.state_dict().items()}) == ([], [])
    assert net.first.weight is before and before.is_leaf and before.inplace_version == 1
    x = paddle.ones([2, 3])
    assert net(x).tolist() == other(x).tolist() and net(x).place == x.place


@pytest.mark.parametrize("wrong", [np.ones((3, 3), "float32"), np.ones((3, 4), "float64")])
def test_set_state_dict_loads_nothing_if_one_tensor_does_not_fit(wrong):
    net = Net()
    before = {name: x.tolist() for name, x in net.state_dict().items()}
    state = {name: x.numpy() + 1 for name, x in net.state_dict().items()}
    with pytest.raises((ValueError, TypeError), match=r"'first.weight' has (shape|dtype)"):
        net.set_state_dict({**state, "first.weight": wrong})
    assert {name: x.tolist() for name, x in net.state_dict().items()} == before


def test_attributes_are_registered_by_type():
    net = Net()
    net.plain = paddle.to_tensor([1.0], stop_gradient=False)
    assert all(each is not net.plain for each in net.parameters())
    net.count = paddle.ones([1])
    assert net.state_dict()["count"].tolist() == [1.0]
    net.scale = None
    assert net.scale is None and "scale" not in net.state_dict()
    net.scale = paddle.create_parameter([2])
    del net.rest
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'rest'"):
        net.rest  # noqa: B018
    with pytest.raises(TypeError, match=r"Net.scale is a registered Parameter"):
        net.scale = 3.0
    with pytest.raises(TypeError, match="must be a Parameter"):
        net.add_parameter("other", paddle.ones([1]))
    with pytest.raises(TypeError, match="must be a Layer, not int"):
        net.add_sublayer("other", 3)


def test_train_and_eval_apply_to_every_sublayer():
    net = Net()
    assert net.eval() is net and not any(layer.training for layer in net.sublayers(include_self=True))
    assert net.train() is net and all(layer.training for layer in net.sublayers(include_self=True))
    seen = []
    net.apply(lambda layer: seen.append(type(layer).__name__))
    assert seen == ["Linear", "ReLU", "Linear", "Sequential", "Net"]  # apply visits the shared layer once, as in Paddle


def test_a_deep_copy_of_a_layer_has_separate_parameters():
    net = Net()
    net(paddle.ones([1, 3])).sum().backward()
    twin = copy.deepcopy(net)
    assert type(twin.first.weight) is nn.Parameter and twin.shared is twin.first
    assert twin.first.weight.grad is None and net.first.weight.grad is not None
    twin.first.weight.set_value(np.zeros((3, 4), "float32"))
    assert net.first.weight.numpy().any()
    read = pickle.loads(pickle.dumps(net.scale))
    assert type(read) is nn.Parameter and read.tolist() == [2.0, 2.0] and not read.stop_gradient


def test_a_parameter_is_a_leaf_and_its_results_are_plain_tensors():
    w = nn.Linear(2, 2).weight
    assert isinstance(w, paddle.Tensor) and w.is_leaf and w.trainable
    for result in (w + 1.0, w.reshape([4]), w[0], w.detach(), w.clone(), w.matmul(w), 2.0 * w, w.numpy()):
        assert type(result) in (paddle.Tensor, np.ndarray)
    with pytest.raises(ValueError, match=rf"Leaf Var \({w.name}\) that doesn't stop gradient"):
        w.add_(1.0)
    w.trainable = False
    assert w.stop_gradient and w.add_(1.0) is w


def test_layers_of_one_class_are_numbered():
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    kind, _, number = a.full_name().rpartition("_")
    assert (kind, b.full_name()) == ("linear", f"linear_{int(number) + 1}")
    assert (a.weight.name, a.bias.name) == (f"{a.full_name()}.w_0", f"{a.full_name()}.b_0")
    assert nn.BatchNorm2D(1).full_name().startswith("batch_norm2d_")


def test_layer_list_registers_its_layers_and_can_be_indexed():
    layers = nn.LayerList([nn.Linear(1, 1) for _ in range(3)])
    layers.append(nn.ReLU()).extend([nn.Tanh()])
    assert len(layers) == 5 and len(layers.parameters()) == 6
    assert layers[-1] is list(layers)[4] and len(layers[1:3]) == 2
    with pytest.raises(IndexError, match="index 5 is out of range for 5 layers"):
        layers[5]
    assert nn.Sequential(nn.ReLU(), nn.Tanh())(paddle.to_tensor([-1.0])).tolist() == [0.0]


@pytest.mark.parametrize(
    "initializer, low, high, deviation",
    [
        (nn.initializer.Constant(3.0), 3.0, 3.0, 0.0),
        (nn.initializer.Uniform(-2.0, 1.0), -2.0, 1.0, 3 / 12**0.5),
        (nn.initializer.Normal(0.0, 0.5), -4.0, 4.0, 0.5),
        (nn.initializer.XavierUniform(), -((6 / 500) ** 0.5), (6 / 500) ** 0.5, (2 / 500) ** 0.5),
        (nn.initializer.XavierNormal(), -1.0, 1.0, (2 / 500) ** 0.5),
        (nn.initializer.KaimingUniform(), -((6 / 300) ** 0.5), (6 / 300) ** 0.5, (2 / 300) ** 0.5),
        (nn.initializer.KaimingNormal(), -1.0, 1.0, (2 / 300) ** 0.5),
    ],
)
def test_initializers_draw_from_the_documented_distributions(initializer, low, high, deviation):
    layer = nn.Linear(300, 200, weight_attr=nn.ParamAttr(initializer=initializer, name="w"))
    numbers = layer.weight.numpy()
    assert low <= numbers.min() <= numbers.max() <= high and layer.weight.name == "w"
    assert numbers.std() == pytest.approx(deviation, rel=0.02, abs=1e-6)
    before = layer.weight.inplace_version
    assert initializer(layer.weight) is layer.weight and layer.weight.inplace_version == before + 1
    assert nn.initializer.fans((8, 3, 5, 5)) == (75, 200)  # kernels are [out, in, height, width]


def test_a_network_learns_on_every_device(device):
    net = nn.Sequential(nn.Conv2D(1, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))
    optimizer = paddle.optimizer.Adam(0.02, parameters=net.parameters())
    images, labels = paddle.rand([12, 1, 6, 6]), paddle.to_tensor([0, 1, 2] * 4)
    losses = []
    for _ in range(20):
        loss = nn.functional.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    assert losses[-1] < 0.2 < 1.0 < losses[0]
    assert net[0].weight.place == images.place and net[0].weight.inplace_version == 20


def test_a_training_loop_needs_no_garbage_collector():
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = paddle.optimizer.Momentum(0.1, parameters=net.parameters())
    x, y = paddle.rand([4, 8]), paddle.zeros([4, 2])

    def step(net, optimizer) -> None:
        nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
        optimizer.clear_grad()

    gc.collect()
    gc.disable()
    try:
        step(net, optimizer)
        before = paddle.device.cpu.memory_allocated()
        for _ in range(5):
            step(net, optimizer)
            assert paddle.device.cpu.memory_allocated() == before
        gone = weakref.ref(net[0].weight)
        del net, optimizer
        assert gone() is None
    finally:
        gc.enable()


def test_invalid_uses_of_a_layer_are_refused():
    for make, words in (
        (lambda: nn.Linear(0, 2), "in_features must be at least 1, not 0"),
        (lambda: nn.Conv2D(3, 4, 3, groups=2), "must be multiples of groups"),
        (lambda: nn.Conv2D(3, 4, (3, 3, 3)), "one integer or two"),
        (lambda: nn.BatchNorm2D(3)(paddle.ones([2, 3])), "x must have 4 dimensions"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    with pytest.raises(TypeError, match="weight_attr or bias_attr must be"):
        nn.Linear(1, 1, weight_attr=3)
    with pytest.raises(TypeError, match=r"in_features must be an integer, not 2.5"):
        nn.Linear(2.5, 1)


#: Calls of dropout, each with True if Paddle 2.6.2 and 3.3.1 return the input or share its memory.
SHARING = {
    "in training with p=0": (lambda x: nn.functional.dropout(x, 0.0), True),
    "in evaluation": (lambda x: nn.functional.dropout(x, 0.5, training=False), False),
    "in evaluation with p=0": (lambda x: nn.functional.dropout(x, 0.0, training=False), True),
    "of channels in evaluation": (lambda x: nn.functional.dropout2d(x, 0.5, training=False), True),
    "a layer in evaluation": (lambda x: evaluated(nn.Dropout(0.5))(x), False),
    "a layer of channels in evaluation": (lambda x: evaluated(nn.Dropout2D(0.5))(x), True),
}


def evaluated(layer):
    layer.eval()
    return layer


@pytest.mark.parametrize("name", SHARING)
def test_dropout_shares_memory_exactly_if_paddle_shares_it(name):
    call, shares = SHARING[name]
    w = paddle.full([1, 1, 1, 2], 0.5)
    w.stop_gradient = False
    x = w * 1
    y = call(x)
    x.fill_(9.0)
    assert (y.flatten().tolist() == [9.0, 9.0]) is shares
    z = call(w)
    (z * z).sum().backward()
    assert w.grad.flatten().tolist() == [1.0, 1.0]
