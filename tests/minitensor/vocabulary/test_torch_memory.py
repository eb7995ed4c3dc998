"""Test memory in PyTorch's vocabulary: shared memory, counted bytes, and the measurement of an article."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import minitensor as paddle
from minitensor import torch
from minitensor.device import cpu
from minitensor.engine.device.counters import cpu_meter

F = torch.nn.functional


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


@pytest.mark.usefixtures("gpu")
def test_relu_allocates_382_mib_and_relu_in_place_nothing():
    paddle.set_device("gpu:sim", capacity="2 GiB", profile="torch")

    def measured(inplace):
        x = torch.zeros(10000, 10000, device=torch.device("cuda:0" if torch.cuda.is_available() else "cpu"))
        torch.cuda.synchronize()
        before = torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated()
        result = F.relu_(x) if inplace else F.relu(x)
        torch.cuda.synchronize()
        after = torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated()
        assert result.is_cuda
        return [(now - then) / 1024**2 for now, then in zip(after, before, strict=True)]

    assert measured(inplace=False) == [382.0, 382.0]
    assert measured(inplace=True) == [0.0, 0.0]


@pytest.mark.parametrize("host", ["cpu", torch.device("cpu")])
def test_functions_of_the_gpu_refuse_the_host(host):
    layer = torch.nn.Linear(1, 1)
    for move in (torch.ones(1).cuda, layer.cuda):
        with pytest.raises(RuntimeError, match="Invalid device, must be cuda device"):
            move(host)
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        torch.cuda.set_device(host)
    assert layer.weight.device == torch.device("cpu"), "a refused call should not move the parameters"


def test_a_model_moves_to_the_gpu_and_trains_there():
    torch.manual_seed(0)
    layer = torch.nn.Linear(3, 1)
    there = torch.nn.Linear(3, 1)
    there.load_state_dict(layer.state_dict())
    there.to("cuda")
    x = torch.rand(5, 3)
    for each, data in ((layer, x), (there, x.cuda())):
        optimizer = torch.optim.SGD(each.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            (each(data) ** 2).mean().backward()
            optimizer.step()
    assert there.weight.is_cuda
    assert there.weight.grad.device == torch.device("cuda", 0)
    np.testing.assert_allclose(there.weight.detach().cpu().numpy(), layer.weight.detach().numpy(), rtol=1e-6)
    assert "device='cuda:0', requires_grad=True)" in repr(there.weight)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        there(x)


def test_from_numpy_and_views_share_memory_and_copies_do_not():
    array = np.arange(6.0)
    shared, copied = torch.from_numpy(array), torch.tensor(array)
    assert shared.data_ptr() == address(array) == address(shared.numpy()) == torch.as_tensor(array).data_ptr()
    assert copied.data_ptr() != address(array)
    x = torch.arange(6.0).view(2, 3)
    for view in (x.T, x[0], x.split(1)[0], x.chunk(3, 1)[0], x.unbind()[0], x[:, :1].expand(2, 4), x.detach(), x.data):
        assert view.data_ptr() == x.data_ptr()
    for copy in (x.clone(), x[[0]], x[x > 2], x.index_select(0, torch.tensor([0])), x.masked_select(x > -1), x + 0):
        assert copy.data_ptr() != x.data_ptr()


def test_an_exported_array_keeps_the_memory_alive():
    x = torch.ones(1000)
    array = x.numpy()
    storage = weakref.ref(x._storage)
    del x
    assert storage() is not None
    array += 1
    assert array.sum() == 2000
    del array
    assert storage() is None


def test_the_attribute_data_keeps_memory_alive_and_counted_and_has_a_separate_version():
    gc.collect()
    before = cpu_meter.allocated
    x = torch.ones(1000)
    alias = x.data
    del x
    assert cpu_meter.allocated - before == 4000
    alias.add_(1)
    assert alias.numpy().sum() == 2000
    again = alias.data
    again.add_(1)
    assert (alias._version, again._version) == (1, 1)
    del alias, again
    assert cpu_meter.allocated == before


def test_backward_raises_about_a_write_through_data_if_foreign_writes_are_checked():
    def program():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        a = x * 1
        y = a * a
        a.data.add_(10)
        y.sum().backward()
        return x.grad.tolist()

    # PyTorch has the same wrong result. The right gradient of a * a, with the saved values, is 2 and 4.
    assert program() == [22.0, 24.0]
    with paddle.check_foreign_writes(), pytest.raises(RuntimeError, match="overwritten from outside the engine"):
        program()


def test_assigning_data_keeps_the_leaf_and_its_version():
    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        x.add_(1)
    x.data = torch.tensor([5.0, 6.0, 7.0])
    assert (x.tolist(), x._version, x.is_leaf, x.requires_grad) == ([5.0, 6.0, 7.0], 1, True, True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [10.0, 12.0, 14.0]
    with pytest.raises(RuntimeError, match="cannot become"):
        x.data = torch.ones(4)


def test_a_training_step_frees_all_memory_without_the_garbage_collector():
    gc.collect()
    gc.disable()
    try:
        before = cpu_meter.allocated
        net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(inplace=True))
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.rand(4, 8)).std().backward()
            optimizer.step()
        a, b = torch.rand(6, requires_grad=True).mul(2).max(0)
        c = torch.rand(3, 3).norm().data.T.expand(2, 2)
        del net, optimizer, a, b, c
        assert cpu_meter.allocated == before
    finally:
        gc.enable()


def test_out_keeps_its_memory_and_each_result_written_to_it_raises_its_version_by_1():
    x, out = torch.ones(4), torch.empty(4)
    at = out.data_ptr()
    for count, operation in enumerate((torch.add, torch.mul, torch.maximum), 1):
        assert operation(x, x, out=out) is out and out._version == count
    assert out.data_ptr() == at


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.mul_(x),
        lambda x: x.zero_(),
        lambda x: x.__setitem__(0, 5.0),
        lambda x: x[1:].neg_(),
        lambda x: x.copy_(torch.ones(3)),
        lambda x: torch.add(x, 1, out=x),
    ],
    ids=["add_", "mul_", "zero_", "setitem", "view", "copy_", "out"],
)
def test_a_write_to_a_read_only_array_is_refused_although_pytorch_allows_it(write):
    array = np.array([1.0, 2.0, 3.0])
    array.flags.writeable = False
    x = torch.from_numpy(array)
    with pytest.raises(RuntimeError, match="read-only"):
        write(x)
    assert array.tolist() == [1, 2, 3] and x._version == 0


def test_set_num_threads_sets_the_number_of_threads_of_the_engine():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert torch.get_num_threads() == cpu.get_num_threads() == 1
        with pytest.raises(ValueError, match="set_num_threads: n must be 1 or more, not 0"):
            torch.set_num_threads(0)
    finally:
        torch.set_num_threads(before)


X = torch.tensor([[1.5, 0.5, 0.25], [0.75, 2.0, 3.0]])
#: Functions that first compute their result in another shape.
RESULTS = {
    "max": lambda x: x.max(0),
    "min": lambda x: x.min(1),
    "median": lambda x: x.median(),
    "median of columns": lambda x: x.median(0),
    "kthvalue": lambda x: x.kthvalue(2),
    "topk": lambda x: x.topk(1, 0),
    "sort": lambda x: x.sort(),
    "sort of a number": lambda x: x[0, 0].sort(),
    "topk of a number": lambda x: x[0, 0].topk(1),
    "roll": lambda x: x.roll(1),
    "roll of a number": lambda x: x[0, 0].roll(1),
    "repeat": lambda x: x.repeat(2, 1),
    "tile": lambda x: x.tile(2),
    "cdist": lambda x: torch.cdist(x, x),
    "embedding": lambda x: torch.nn.functional.embedding(torch.tensor([1, 0]), x),
    "cat": lambda x: torch.cat([torch.tensor([]), x]),
    "logsumexp": lambda x: x.logsumexp(0),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_no_view_and_its_storage_has_no_other_elements(name):
    w = X.clone().requires_grad_()
    found = RESULTS[name](w)
    for each in found if isinstance(found, tuple) else [found]:
        assert not each._is_view() and each._base is None
        assert each.untyped_storage().nbytes() == each.numel() * each.element_size()
        each.detach_()  # PyTorch refuses this for views


@pytest.mark.parametrize("name", RESULTS)
def test_the_gradient_is_right_if_a_result_is_written_in_place(name):
    def loss(write):
        w = X.clone().requires_grad_()
        found = RESULTS[name](w)
        values = found[0] if isinstance(found, tuple) else found
        written = values.mul_(3) if write else values * 3
        (written * torch.arange(1.0, written.numel() + 1).reshape(written.shape)).sum().backward()
        return w.grad

    assert torch.equal(loss(True), loss(False))
