"""Test that CuPy has every function that the engine calls for arrays on a device.

The calls are recorded on the simulated GPU and compared with ``facts/cupy-functions.json``, which has CuPy's functions
with their parameters, and the dtypes in which CuPy's ufuncs compute.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitensor as mt
from minitensor.engine.device.places import current
from minitensor.engine.device.simulated import DeviceArray
from minitensor.engine.table import ROWS
from tests.support.engine.device.transfers import everything

# The tests make their own tensors on the simulated GPU.
pytestmark = pytest.mark.cpu_only

FACTS = json.loads((Path(__file__).parents[4] / "facts/cupy-functions.json").read_text())

#: The methods that both CuPy's arrays, according to the facts, and arrays of the simulated GPU have.
METHODS = [name for name in FACTS["methods"] if callable(getattr(DeviceArray, name, None))]

#: A recorded call: its kind, name, number of positional arguments, names of keyword arguments, and dtypes.
Asked = tuple[str, str, int, tuple[str, ...], Any]


@pytest.fixture(autouse=True)
def simulated() -> None:
    """Select a new simulated GPU. Another fixture selects the host again after every test."""
    mt.set_device("gpu:sim", capacity="256 MiB")


def dtypes(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the dtypes of a ufunc's inputs. For a Python number, this is the dtype that all inputs promote to."""
    known = [value.dtype for value in values if hasattr(value, "dtype")]
    return tuple(value.dtype if hasattr(value, "dtype") else np.result_type(*known, value) for value in values)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[Asked]:
    """Record the calls for arrays on the device during a test."""
    found: set[Asked] = set()
    on_ufunc, on_function = DeviceArray.__array_ufunc__, DeviceArray.__array_function__

    def ufunc(self: DeviceArray, function: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        result = on_ufunc(self, function, method, *inputs, **kwargs)
        made = None if "out" in kwargs else result.dtype
        found.add(("ufunc", function.__name__, len(inputs), (method, *sorted(kwargs)), (dtypes(inputs), made)))
        return result

    def array_function(self: DeviceArray, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found.add(("function", function.__name__, len(args), tuple(sorted(kwargs)), None))
        return on_function(self, function, types, args, kwargs)

    def recording(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(self: DeviceArray, *args: Any, **kwargs: Any) -> Any:
            found.add(("method", name, len(args), tuple(sorted(kwargs)), None))
            return method(self, *args, **kwargs)

        return recorded

    monkeypatch.setattr(DeviceArray, "__array_ufunc__", ufunc)
    monkeypatch.setattr(DeviceArray, "__array_function__", array_function)
    for name in METHODS:
        monkeypatch.setattr(DeviceArray, name, recording(name, getattr(DeviceArray, name)))
    return found


def loop_of(name: str, given: tuple[Any, ...]) -> str | None:
    """Return the loop of a CuPy ufunc for inputs of these dtypes: the first to which all can be cast, or None."""
    loops = FACTS["ufuncs"].get(name, FACTS["scipy.special"].get(name))
    for loop in loops:
        if all(np.can_cast(have, want) for have, want in zip(given, loop.partition("->")[0], strict=True)):
            return loop
    return None


def refusals(asked: set[Asked]) -> Iterator[str]:
    """Describe each call that CuPy would refuse, or would compute in another dtype than numpy."""
    for kind, name, positional, keywords, types in sorted(asked, key=str):
        if kind == "ufunc":
            method, *names = keywords
            if method != "__call__" or not set(names) <= {"out", "dtype", "casting"}:
                yield f"{name}.{method} with {names}"
            elif name not in FACTS["ufuncs"] and name not in FACTS["scipy.special"]:
                yield f"the ufunc {name}"
            elif name != "matmul":
                given, made = types
                loop = loop_of(name, given)
                if loop is None or (made is not None and np.dtype(loop[-1]) != made):
                    yield f"{name} of {', '.join(map(str, given))}: CuPy computes {loop}, numpy makes {made}"
        else:
            offered = FACTS["functions" if kind == "function" else "methods"].get(name, "none")
            if offered == "none":
                yield f"the {kind} {name}"
            elif name in ("reshape", "transpose"):  # a shape or axes may be given as several arguments
                continue
            elif not set(keywords) <= set(offered) or positional > len(offered):
                yield f"the {kind} {name} with {positional} arguments and {keywords}; CuPy's parameters are {offered}"


def indexing() -> None:
    """Read and write with all kinds of indices."""
    x = mt.rand([4, 3])
    mask = x > 0.5
    for index in (
        [2, 0, 2],
        (slice(None), [1, 1]),
        mask,
        (1, [0, 2]),
        mt.to_tensor([[0, 3]]),
        (..., None),
        slice(0, 2),
    ):
        leaf = mt.rand([4, 3])
        leaf.stop_gradient = False
        leaf[index].sum().backward()
        target = leaf * 1.0
        target[index] = target[index] * 2.0
        target.sum().backward()


def test_cupy_has_every_function_that_the_operations_call(asked: set[Asked]) -> None:
    for _ in everything():
        pass
    indexing()
    assert len(asked) > 200
    assert list(refusals(asked)) == []


#: Ufuncs with input dtypes for which CuPy lists another result than numpy, each with the reason.
OTHER_DTYPES = {("subtract", "??"): "CuPy has this loop only to raise an error, and numpy also raises one"}


def test_cupy_computes_in_the_dtypes_of_numpy() -> None:
    differ = set()
    for ufunc in {row.forward for row in ROWS.values() if isinstance(row.forward, np.ufunc)}:
        for chars in product("?ilfd", repeat=ufunc.nin):
            given = tuple(np.dtype(char) for char in chars)
            try:
                made = ufunc.resolve_dtypes((*given, None))[-1]
            except TypeError:
                made = None
            loop = loop_of(ufunc.__name__, given)
            if (None if loop is None else np.dtype(loop[-1])) != made:
                differ.add((ufunc.__name__, "".join(chars)))
    assert differ == set(OTHER_DTYPES)


def test_the_check_finds_a_call_that_cupy_refuses(asked: set[Asked]) -> None:
    array = current.simulated.put(np.arange(3.0))
    np.spacing(array)
    np.add(array, 1.0, where=array > 1.0, out=array)
    np.insert(array, 1, 2.0)
    np.clip(array, min=0.0, max=1.0)
    assert len(list(refusals(asked))) == 4


@pytest.mark.parametrize(
    ("what", "attempt"),
    [
        ("ufunc.at", lambda a, i: np.multiply.at(a, i, a[i])),
        ("accumulate", lambda a, i: np.maximum.accumulate(a)),
        ("a host array", lambda a, i: a + np.ones(3)),
        ("a host index", lambda a, i: a[np.array([0, 1])]),
        ("an implicit copy to the host", lambda a, i: np.asarray(a)),
        ("may_share_memory of a number", lambda a, i: np.may_share_memory(np.float64(1), a)),
        ("max_work of shares_memory", lambda a, i: np.shares_memory(a, a[1:], max_work=100)),
        ("a keyword that only numpy has", lambda a, i: a.max(initial=0.0)),
        ("zeros_like with an empty shape", lambda a, i: np.zeros_like(a, shape=())),
        ("add_at of bools", lambda a, i: a.gpu.add_at(a > 1, i, a[i] > 1)),
        ("raise_at of floats", lambda a, i: a.gpu.raise_at(a, i, a[i])),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_simulated_gpu_refuses_the_calls_that_cupy_refuses(
    what: str, attempt: Callable[[Any, Any], object]
) -> None:
    gpu = current.simulated
    array, index = gpu.put(np.arange(3.0)), gpu.put(np.array([0, 2, 0]))
    with pytest.raises((TypeError, NotImplementedError, ValueError)):
        attempt(array, index)


def test_the_simulated_gpu_refuses_the_calls_that_cupy_leaves_undefined() -> None:
    gpu = current.simulated
    array, index = gpu.put(np.arange(3.0)), gpu.put(np.array([0, 2, 0]))
    with pytest.raises(ValueError, match="share memory"):
        array[1:] = array[:-1]
    with pytest.raises(ValueError, match="share memory"):
        np.copyto(array[1:], array[:-1])
    with pytest.raises(ValueError, match="share memory"):
        array[index[:2]] = array[1:]
    with pytest.raises(ValueError, match="share memory"):
        array[array > 0] = array[1:]
    with pytest.raises(ValueError, match="share memory"):
        gpu.add_at(array, index[:2], array[1:])
    assert array.get().tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="lists a position twice"):
        array[index] = gpu.put(np.arange(3.0))


def test_the_simulated_gpu_keeps_the_last_of_several_values_written_to_one_position() -> None:
    x = mt.zeros([3])
    x[[0, 2, 0]] = mt.to_tensor([1.0, 2.0, 3.0])
    assert x.tolist() == [3.0, 0.0, 2.0]
    y = mt.zeros([3, 2])
    y[:, [1, 0, 1]] = mt.to_tensor([1.0, 2.0, 3.0])
    assert y.tolist() == [[2.0, 3.0]] * 3


def test_an_index_out_of_range_is_refused_although_cupy_would_wrap_it_around() -> None:
    x = mt.zeros([3])
    with pytest.raises(IndexError, match="out of bounds"):
        x[[0, 3]]
    with pytest.raises(IndexError, match="out of bounds"):
        x[[0, -4]] = 1.0
    assert x.tolist() == [0.0, 0.0, 0.0]
