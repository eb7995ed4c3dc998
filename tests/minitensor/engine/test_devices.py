"""Test tensors on several devices: moves are operations, and an operation that finds no memory changes nothing.

These tests choose their devices themselves, so they do not run once per device.
"""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
from collections.abc import Callable, Iterator

import numpy as np
import pytest

import minitensor as mt
from minitensor import torch
from minitensor.autograd import PyLayer
from minitensor.engine.core.storage import write_log
from minitensor.engine.device.memory_error import OutOfMemoryError
from minitensor.engine.device.places import current, device_named
from minitensor.engine.operations import FUNCTIONS
from minitensor.engine.table import ROWS
from minitensor.torch.tensor import as_torch
from tests.support.engine import samples, samples_indexed
from tests.support.engine.state import Moment

pytestmark = pytest.mark.cpu_only

SIM = "gpu:sim"


@pytest.fixture(autouse=True)
def gpus_as_before() -> Iterator[None]:
    simulated, announced = current.simulated, current.announced
    yield
    current.simulated, current.announced = simulated, announced


@pytest.fixture
def no_gpu_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the state of devices to that of a new program on a computer without a CUDA device."""
    monkeypatch.setattr(current, "simulated", None)
    monkeypatch.setattr(current, "announced", False)
    monkeypatch.setattr(current, "cuda", None)
    monkeypatch.setattr(current, "no_cuda", "none was asked for")


def tensor(place: str, wanting: bool = False) -> mt.Tensor:
    return mt.to_tensor([[1.0, 2.0], [3.0, 4.0]], place=place, stop_gradient=not wanting)


# ---------- all operands of an operation must be on one device ----------

#: Every operation of the table that has several operands: its name, the operands, and a function that calls it.
MIXED = {
    **{s.name: (s.arrays, s.run) for s in samples.SAMPLES if len(s.arrays) > 1 and s.row.normal},
    **{s.name + "_": (s.arrays, s.run_in_place) for s in samples.IN_PLACE_ONCE if len(s.arrays) > 1},
    **{c.name: (c.arrays, lambda x, c=c: c.run(*x)) for c in samples_indexed.NORMAL if len(c.arrays) > 1},
    **{
        c.name + "_": (c.arrays, lambda x, c=c: c.run(*x, in_place=True))
        for c in samples_indexed.IN_PLACE
        if len(c.arrays) > 1
    },
}


@pytest.mark.parametrize("name", sorted(MIXED))
def test_operands_on_two_devices_are_refused_before_anything_is_written(name: str):
    arrays, call = MIXED[name]
    for k in range(len(arrays)):
        for places in ((SIM, "cpu"), ("cpu", SIM)):
            operands = [mt.to_tensor(a, place=places[i != k]) for i, a in enumerate(arrays)]
            before = [(x.numpy().tobytes(), x.inplace_version, x.place) for x in operands]
            log = list(write_log)
            with pytest.raises(TypeError, match=r"Place\(cpu\)|Place\(gpu:sim\)") as raised:
                call(operands)
            assert "`x.cuda()`" in str(raised.value) and name.rstrip("_") in str(raised.value)
            assert [(x.numpy().tobytes(), x.inplace_version, x.place) for x in operands] == before
            assert list(write_log) == log


class Stray(PyLayer):
    """A layer whose backward returns a gradient on another device."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g.cpu() if g.place != "cpu" else g.cuda(SIM)


def with_hook(w: mt.Tensor, y: mt.Tensor) -> mt.Tensor:
    product = w * 2
    product.register_hook(lambda g: y)
    return product.sum()


#: Calls with a leaf ``w`` or a tensor ``x`` on one device and ``y`` on the other. Most are not operations of the table.
ELSEWHERE: dict[str, Callable[[mt.Tensor, mt.Tensor, mt.Tensor], object]] = {
    "concat": lambda w, x, y: mt.concat([x, y]),
    "stack": lambda w, x, y: mt.stack([x, y]),
    "a tensor without dimensions": lambda w, x, y: x + y[0, 0],
    "a tensor without dimensions, in place": lambda w, x, y: x.add_(y[0, 0]),
    "x[y]": lambda w, x, y: x[y.astype("int64")[0] - 1],
    "x[mask]": lambda w, x, y: x[y > 2],
    "x[y] = 1": lambda w, x, y: x.__setitem__(y.astype("int64")[0] - 1, 1.0),
    "x[0] = y": lambda w, x, y: x.__setitem__(0, y[0]),
    "x[[0, 1]] = y": lambda w, x, y: x.__setitem__([0, 1], y),
    "set_": lambda w, x, y: x.set_(y),
    "normal": lambda w, x, y: mt.normal(x, y),
    "y in x": lambda w, x, y: y in x,
    "initial gradient of backward": lambda w, x, y: (w * 2).backward(y),
    "initial gradient of grad": lambda w, x, y: mt.grad([w * 2], [w], [y]),
    "initial gradient of grad, recorded": lambda w, x, y: mt.grad([w * 2], [w], [y], create_graph=True),
    "grad =": lambda w, x, y: setattr(w, "grad", y),
    "result of a hook": lambda w, x, y: with_hook(w, y).backward(),
    "result of a hook, recorded": lambda w, x, y: mt.grad(with_hook(w, y), [w], create_graph=True),
    "result of a layer's backward": lambda w, x, y: Stray.apply(w).sum().backward(),
    "result of a layer's backward, recorded": lambda w, x, y: mt.grad(Stray.apply(w).sum(), [w], create_graph=True),
}


@pytest.mark.parametrize("places", [("cpu", SIM), (SIM, "cpu")], ids=" and ".join)
@pytest.mark.parametrize("name", ELSEWHERE)
def test_every_other_operation_on_two_tensors_refuses_two_devices(name: str, places: tuple[str, str]):
    w, x, y = tensor(places[0], wanting=True), tensor(places[0]), tensor(places[1])
    before = Moment(w=w, x=x, y=y)
    with pytest.raises((TypeError, ValueError), match=r"Place\(cpu\)(.|\n)*Place\(|Place\(gpu(.|\n)*Place\("):
        ELSEWHERE[name](w, x, y)
    before.expect_unchanged()


def test_a_layer_with_outputs_on_two_devices_is_refused():
    class Both(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x.cuda(SIM)

        @staticmethod
        def backward(ctx, g, h):
            return g

    with pytest.raises(TypeError, match=r"Both.*Place\(cpu\) and Place\(gpu:sim\)"):
        Both.apply(tensor("cpu", wanting=True))


def test_numbers_arrays_and_lists_move_to_the_device_of_the_tensor():
    for here, there in (("cpu", SIM), (SIM, "cpu")):
        x = tensor(here)
        mt.set_device(there)
        for y in (x + 1.0, x + np.ones((2, 2), np.float32), x + [[1.0, 1.0], [1.0, 1.0]], 1.0 + x):
            assert y.place == here and y.tolist() == [[2, 3], [4, 5]]
        x.add_(np.ones(2, np.float32))
        x[0] = [7.0, 8.0]
        x[[1]] = np.zeros(2)
        assert x.place == here and x.tolist() == [[7, 8], [0, 0]] and x[[0], [1]].place == here
        assert mt.get_device() == there, "the selected device should not change"


#: Operations of two operands that have a gradient rule.
OF_TWO = [name for name, row in sorted(ROWS.items()) if row.operands == ("x", "y") and row.normal and row.rules]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", OF_TWO)
def test_an_operation_of_a_tensor_and_a_number_has_the_same_gradient_on_every_device(name: str, create_graph: bool):
    def answer(dtype: str, number: float, reflected: bool, place: str) -> object:
        x = mt.to_tensor([0.25, 0.5, 0.75], dtype=dtype, place=place, stop_gradient=False)
        with np.errstate(all="ignore"):
            try:
                found = FUNCTIONS[name](*((number, x) if reflected else (x, number)))
            except (TypeError, ValueError) as error:
                return type(error).__name__
            if found.stop_gradient:
                return None
            try:
                (gradient,) = mt.grad(found, [x], create_graph=create_graph, allow_unused=True)
            except RuntimeError as error:  # the operation has no slope along this operand
                return str(error)
        return None if gradient is None else gradient.cpu().tolist()

    for each in itertools.product(("float32", "float16"), (0.5, 2), (False, True)):
        assert repr(answer(*each, SIM)) == repr(answer(*each, "cpu")), each


#: Functions that compute a part of their result with Python numbers, or on the host.
PARTLY_ON_THE_HOST = {
    "isclose": lambda x, y: mt.isclose(x, y),
    "repeat_interleave": lambda x, y: mt.repeat_interleave(x, 2),
    "repeat_interleave of rows": lambda x, y: torch.repeat_interleave(as_torch(x), 2, 0),
    "cosine_similarity": lambda x, y: mt.nn.functional.cosine_similarity(x, y),
    "normalize": lambda x, y: mt.nn.functional.normalize(x),
    "median": lambda x, y: as_torch(x).median(),
    "topk": lambda x, y: as_torch(x).topk(1)[1],
}


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", PARTLY_ON_THE_HOST)
def test_a_function_has_the_same_result_and_gradients_on_every_device(name: str, dtype: str):
    def answer(place: str) -> list[object]:
        values = [[0.5, 0.25, 0.75], [0.125, 0.5, 0.5]], [[0.5, 0.5, 0.25], [1.0, 0.25, 0.5]]
        x, y = (mt.to_tensor(each, dtype=dtype, place=place, stop_gradient=False) for each in values)
        found = PARTLY_ON_THE_HOST[name](x, y)
        answers = [found.detach().cpu().tolist()]
        if not found.stop_gradient:
            first = mt.grad(found, [x, y], create_graph=True, allow_unused=True)
            wanted = [g for g in first if g is not None and not g.stop_gradient]
            second = mt.grad(wanted, [x, y], allow_unused=True) if wanted else []
            answers += [None if g is None else g.detach().cpu().tolist() for g in (*first, *second)]
        return answers

    assert repr(answer(SIM)) == repr(answer("cpu"))


# ---------- operators with numbers ----------


COMPARISONS = ["lt", "le", "gt", "ge", "eq", "ne"]
ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor"]
DTYPES = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("kind", [mt.Tensor, torch.Tensor], ids=["paddle", "torch"])
@pytest.mark.parametrize("name", [*COMPARISONS, *ARITHMETIC])
def test_an_operator_with_a_number_has_the_same_result_on_every_device(name: str, kind: type[mt.Tensor]):
    def answer(dtype: str, number: float, reflected: bool, place: str) -> tuple[str, object]:
        x = mt.to_tensor([[1, 2], [0, 3]], dtype=dtype, place=place)
        x = x if kind is mt.Tensor else as_torch(x)
        try:
            with np.errstate(all="ignore"):
                found = getattr(operator, name)(*((number, x) if reflected else (x, number)))
        except (TypeError, ValueError, RuntimeError) as error:
            return type(error).__name__, None
        return str(found.dtype), found.cpu().tolist()

    for each in itertools.product(DTYPES, (0, 2, 1.5, -1.5, True), (False, True)):
        assert repr(answer(*each, SIM)) == repr(answer(*each, "cpu")), each


# ---------- moves between devices ----------


def test_a_move_to_another_device_is_a_copy_through_which_the_gradient_flows():
    w = tensor("cpu", wanting=True)
    there = w.cuda(SIM)
    assert there.place == SIM and there.tolist() == w.tolist() and not there.is_leaf and there.cuda(SIM) is there
    there.multiply_(there)  # this write changes the copy on the other device only
    (there.cpu() * 3).sum().backward()
    assert w.tolist() == [[1, 2], [3, 4]] and w.grad.place == "cpu" and w.grad.tolist() == [[6, 12], [18, 24]]


def test_a_move_has_gradients_of_any_order():
    w = mt.to_tensor([1.0, 2.0], place="cpu", stop_gradient=False)
    (first,) = mt.grad((w.cuda(SIM) ** 4).cpu().sum(), [w], create_graph=True)
    (second,) = mt.grad(first.sum(), [w], create_graph=True)
    (third,) = mt.grad(second.sum(), [w])
    assert [g.place for g in (first, second, third)] == ["Place(cpu)"] * 3
    assert [g.tolist() for g in (first, second, third)] == [[4, 32], [12, 48], [24, 48]]


def test_gradients_are_added_on_the_device_of_the_leaf():
    w = tensor("cpu", wanting=True)
    mt.autograd.backward([(w * 2).sum(), (w.cuda(SIM) * 3).sum()])
    assert w.grad.place == "cpu" and w.grad.tolist() == [[5, 5], [5, 5]]


def test_a_move_under_no_grad_is_not_recorded():
    for here, there in (("cpu", SIM), (SIM, "cpu")):
        w = tensor(here, wanting=True)
        with mt.no_grad():
            moved = w.to(there)
        assert moved.place == there and moved.stop_gradient and moved.is_leaf


def test_copy_and_set_value_copy_from_another_device():
    for here, there in (("cpu", SIM), (SIM, "cpu")):
        x, y = tensor(here), tensor(there, wanting=True)
        x.copy_(y * 2)
        x.sum().backward()
        assert x.place == here and x.inplace_version == 1 and y.grad.place == there
        assert y.grad.tolist() == [[2, 2], [2, 2]]
        w = tensor(here, wanting=True)
        w.set_value(y)
        assert w.is_leaf and w.place == here and w.tolist() == y.tolist()


@pytest.mark.parametrize("place", ["cpu", SIM])
def test_a_tensor_made_like_another_tensor_is_on_the_device_of_that_tensor(place: str):
    x = tensor(place)
    mt.set_device("cpu" if place == SIM else SIM)
    made = [mt.zeros_like(x), mt.ones_like(x), mt.full_like(x, 2), mt.rand_like(x), mt.randn_like(x), x.clone(), x * 2]
    assert {str(y.place) for y in made} == {f"Place({place})"}
    assert mt.zeros([1]).place != place and copy.deepcopy(x).place == place


def test_a_pickle_is_loaded_on_the_host():
    x = tensor(SIM, wanting=True)
    back = pickle.loads(pickle.dumps(x))
    assert back.place == "cpu" and back.tolist() == x.tolist() and not back.stop_gradient


def test_the_method_to_takes_a_device_a_dtype_or_a_tensor():
    x = tensor("cpu", wanting=True)
    y = x.to(SIM, "float64")
    assert y.place == SIM and y.dtype == "float64" and x.to(y).place == SIM and x.to(y).dtype == "float64"
    assert x.to(device=SIM, dtype="int64").dtype == "int64" and x.to("cpu") is x and x.to() is x
    assert x.to(SIM, "float64", True).dtype == "float64"
    y.sum().backward()
    assert x.grad.place == "cpu" and x.grad.dtype == "float32"


@pytest.mark.parametrize("where", ["gpu:1", "tpu", "", 3, 1.5, ["cpu"], {}, object])
def test_the_errors_of_to_and_cuda_name_an_invalid_device(where: object):
    x = tensor("cpu")
    with pytest.raises((ValueError, TypeError), match=r"device|dtype|element type"):
        x.to(where)
    if not isinstance(where, float):
        with pytest.raises(ValueError, match="cuda: there is no device"):
            x.cuda(where)


def test_a_place_equals_its_own_name_and_no_other_value():
    place = tensor(SIM).place
    assert place == SIM == place and place == "Place(gpu:sim)" and place != "cpu" and place != "gpu" and place != 3
    assert str(place) == "Place(gpu:sim)" and {place: 1}["Place(gpu:sim)"] and copy.deepcopy(place) == str(place)
    assert mt.to_tensor([1.0], place=place).place == place


# ---------- choosing a device ----------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("gpu:1",), "gpu:1"),
        ((None,), "None"),
        (("GPU",), "'GPU'"),
        ((0,), "0"),
        (("cpu", "1 GiB"), "only the simulated GPU"),
        (("cpu", None, "torch"), "only the simulated GPU"),
        ((SIM, "lots"), "'lots'"),
        ((SIM, "-1 MiB"), "'-1 MiB'"),
        ((SIM, "0.2 B"), "'0.2 B'"),
        ((SIM, 0), "at least 1 byte"),
        ((SIM, -5), "-5"),
        ((SIM, 1.5), "1.5"),
        ((SIM, True), "True"),
        ((SIM, [1]), r"\[1\]"),
        ((SIM, float("nan")), "nan"),
        ((SIM, None, "jax"), "jax"),
        ((SIM, None, 5), "5"),
    ],
    ids=str,
)
def test_the_error_names_an_invalid_device_and_the_selected_device_stays(arguments: tuple, text: str):
    mt.set_device(SIM)
    before = current.simulated
    with pytest.raises((ValueError, TypeError), match=text):
        mt.set_device(*arguments)
    assert current.gpu is before and current.simulated is before and mt.get_device() == SIM


def test_a_capacity_is_a_number_of_bytes_or_a_text_with_any_unit():
    texts = {"64 B": 64, "2 KB": 2000, "2 KiB": 2048, "2.5 MB": 2_500_000, "3MiB": 3 << 20, "1 gb": 10**9}
    for given, size in {**texts, " 1 GiB ": 1 << 30, 4096: 4096, np.int64(7): 7}.items():
        mt.set_device(SIM, capacity=given)
        assert current.gpu.allocator.capacity == size, given


def test_a_gpu_may_be_too_small_for_anything():
    mt.set_device(SIM, capacity=1)
    with pytest.raises(OutOfMemoryError, match="of which 1 bytes is free"):
        mt.ones([1])
    assert mt.zeros([0]).tolist() == []


def test_the_notice_about_the_simulated_gpu_is_printed_once(no_gpu_yet: None, capsys: pytest.CaptureFixture[str]):
    mt.set_device(SIM)
    assert capsys.readouterr().err == "", "there should be no notice if the program asked for a simulated GPU"
    mt.set_device("gpu")
    reported = capsys.readouterr().err
    assert "'gpu' is a simulated GPU of 8.00 GiB" in reported and reported.count("\n") == 1
    mt.set_device("gpu", capacity="1 GiB")
    tensor("gpu").cuda()
    assert capsys.readouterr().err == "" and device_named("test", "gpu").allocator.capacity == 1 << 30


def test_tensors_of_an_earlier_simulated_gpu_stay_there_and_cannot_be_mixed_with_new_ones():
    mt.set_device(SIM, capacity="32 MiB")
    old = mt.ones([4])
    gpu = current.gpu
    mt.set_device(SIM, capacity="64 MiB")
    new = mt.ones([4])
    assert old.tolist() == [1, 1, 1, 1] and (old + 1).sum().item() == 8 and old.place != new.place
    assert gpu.allocator.requested == 16 and current.gpu.allocator.requested == 16
    for call in (mt.add, mt.Tensor.add_, lambda x, y: mt.concat([x, y])):
        with pytest.raises(TypeError, match="a new simulated GPU is a different device"):
            call(new, old)
    assert new.inplace_version == 0 and (old.cuda(SIM) + new).tolist() == [2, 2, 2, 2]
    assert new.to(old.place).place == old.place and (new.to(old) + old).tolist() == [2, 2, 2, 2]
    del old
    assert gpu.allocator.allocated == 0


# ---------- counters ----------


def test_tensors_on_a_gpu_are_not_counted_on_the_host(no_collector: None):
    host = mt.device.cpu
    mt.set_device(SIM)
    host.reset_peak_memory_stats()
    base = host.memory_allocated()
    w = tensor(SIM, wanting=True)
    y = (w * w).exp() + w
    y.sum().backward()
    assert (host.memory_allocated(), host.max_memory_allocated()) == (base, base) and w.grad.place == SIM
    del w, y
    assert (host.memory_allocated(), host.max_memory_allocated()) == (base, base)


def test_the_peaks_of_allocated_and_reserved_bytes_are_reset_separately():
    mt.set_device(SIM, capacity="64 MiB")
    gpu = mt.device.cuda
    x = mt.ones([1024, 1024])
    del x
    assert (gpu.memory_allocated(), gpu.max_memory_allocated()) == (0, 4 << 20)
    assert gpu.memory_reserved() == gpu.max_memory_reserved() == 20 << 20, (
        "a request below 10 MiB should reserve 20 MiB"
    )
    gpu.reset_max_memory_reserved()
    assert (gpu.max_memory_allocated(), gpu.max_memory_reserved()) == (4 << 20, 20 << 20), (
        "20 MiB should still be reserved"
    )
    gpu.reset_max_memory_allocated()
    gpu.empty_cache()
    assert (gpu.max_memory_allocated(), gpu.memory_reserved(), gpu.max_memory_reserved()) == (0, 0, 20 << 20)
    gpu.reset_peak_memory_stats()
    assert gpu.max_memory_reserved() == 0


# ---------- out of memory ----------


def run_out_of_memory_after(monkeypatch: pytest.MonkeyPatch, served: int) -> None:
    """Make the current GPU raise OutOfMemoryError after ``served`` more requests."""
    gpu = current.gpu
    allocate = type(gpu).allocate

    def allocate_or_not(self: object, nbytes: int) -> object:
        nonlocal served
        if nbytes:
            served -= 1
        if served < 0 and nbytes:
            raise OutOfMemoryError(nbytes, nbytes, 1 << 20, 1 << 20, 1 << 20, 0)
        return allocate(gpu, nbytes)

    monkeypatch.setattr(type(gpu), "allocate", allocate_or_not)


WRITES = {
    **{str(s): (s.arrays, s.target, s.run_in_place) for s in samples.IN_PLACE_ONCE},
    **{f"{c}, in place": (c.arrays, 0, lambda x, c=c: c.run(*x, in_place=True)) for c in samples_indexed.IN_PLACE},
}


def fails_cleanly(name: str, served: int) -> bool:
    """Return False if ``served`` requests suffice for the operation; otherwise assert that it changed nothing."""
    arrays, target, call = WRITES[name]
    operands = [mt.to_tensor(a) for a in arrays]
    x = operands[target]
    if x.dtype in ("float32", "float64"):
        w = mt.zeros_like(x)
        w.stop_gradient = False
        operands[target] = x = x + w
    saved = x * x
    before = Moment(**{f"operand {i}": y for i, y in enumerate(operands)}, saved=saved)
    with pytest.MonkeyPatch.context() as patch:
        run_out_of_memory_after(patch, served)
        try:
            call(operands)
            return False
        except OutOfMemoryError:
            pass
    before.expect_unchanged()
    return True


@pytest.mark.parametrize("policy", ["2.6", "copy_on_write"])
@pytest.mark.parametrize("name", WRITES)
def test_an_in_place_operation_that_runs_out_of_memory_changes_nothing(name: str, policy: str):
    mt.set_device(SIM, capacity="32 MiB")
    mt.set_inplace_policy(policy)
    assert next(served for served in range(100) if not fails_cleanly(name, served)) < 99


def refused_backwards(step: Callable[[], mt.Tensor], unchanged: Callable[[], bool]) -> int:
    """Run backward with memory for 0, 1, 2, ... requests until it succeeds; return the number of failed runs.

    Args:
        step: computes the loss, on a GPU with all its memory.
        unchanged: a function that must return True after each failed run.
    """
    for served in range(60):
        loss = step()
        with pytest.MonkeyPatch.context() as patch:
            run_out_of_memory_after(patch, served)
            try:
                loss.backward()
                return served
            except OutOfMemoryError:
                pass
        del loss
        assert unchanged(), served
    raise AssertionError("backward ran out of memory in every run")


def test_after_a_backward_that_ran_out_of_memory_no_leaf_has_a_gradient():
    mt.set_device(SIM, capacity="32 MiB")

    def step() -> mt.Tensor:
        return ((v * w).exp() * w + v.sin()).sum()

    v, w = mt.to_tensor([0.1, 0.2], stop_gradient=False), mt.to_tensor([0.3, 0.4], stop_gradient=False)
    step().backward()
    wanted = v.grad.tolist(), w.grad.tolist()
    v.grad = w.grad = None
    held = current.gpu.allocator.requested

    def unchanged() -> bool:
        return v.grad is None and w.grad is None and current.gpu.allocator.requested == held

    assert refused_backwards(step, unchanged) > 5 and (v.grad.tolist(), w.grad.tolist()) == wanted


def test_a_backward_that_runs_out_of_memory_changes_no_existing_gradient():
    mt.set_device(SIM, capacity="32 MiB")
    leaves = [mt.to_tensor([0.1, 0.2], stop_gradient=False) for _ in range(4)]

    def step() -> mt.Tensor:
        return sum((w.exp() for w in leaves[1:]), leaves[0].exp()).sum()

    def gradients() -> list:
        return [None if w.grad is None else w.grad.tolist() for w in leaves]

    step().backward()
    once = gradients()
    leaves[1].clear_grad(False)
    leaves[3].clear_grad()  # backward needs new memory for the gradients of leaves 1 and 3
    before = gradients()
    assert refused_backwards(step, lambda: gradients() == before) > 3
    assert gradients() == [[2 * g for g in once[0]], once[1], [2 * g for g in once[2]], once[3]]


def test_deleted_tensors_free_their_memory_on_the_gpu():
    mt.set_device(SIM, capacity="64 MiB")
    x = mt.ones([6, 1024, 1024])  # 24 MiB
    with pytest.raises(OutOfMemoryError, match="Out of memory"):
        _ = x * 2 + x * 3
    assert current.gpu.allocator.requested == 24 << 20
    y = x * 3
    del x
    assert (y + 1)[0, 0, 0].item() == 4


def test_the_counters_of_a_gpu_are_read_by_name_place_or_number():
    mt.set_device(SIM, capacity="64 MiB")
    x = mt.ones([256])
    mt.set_device("cpu")
    cuda = mt.device.cuda
    assert [cuda.memory_allocated(each) for each in (None, SIM, x.place, "gpu", 0)] == [1024] * 5
    cuda.reset_peak_memory_stats(SIM)
    assert cuda.max_memory_allocated(SIM) == 1024 and cuda.max_memory_reserved(SIM) == cuda.memory_reserved(SIM) > 0
    cuda.synchronize(0)
    for wrong in ("cpu", "gpu:7", 3, True, object()):
        with pytest.raises(ValueError, match=r"device.cuda"):
            cuda.memory_allocated(wrong)
