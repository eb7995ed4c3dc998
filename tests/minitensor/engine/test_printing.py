"""Compare printed tensors with Paddle 2.6.2.

The expected texts were recorded from Paddle in facts/printing.md. If Paddle 2.6.2 is installed, the tests also
compare the printed texts of random tensors.
"""

import ast
import math
import random
import re
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from minitensor.engine.core import printing
from minitensor.engine.core.printing import format_tensor, set_printoptions

FACTS = Path(__file__).parents[3] / "facts" / "printing.md"
DEFAULTS = {"precision": 8, "threshold": 1000, "edgeitems": 3, "sci_mode": False, "linewidth": 80}


@pytest.fixture(autouse=True)
def default_options():
    set_printoptions(**DEFAULTS)
    yield
    set_printoptions(**DEFAULTS)


def printed(array: np.ndarray, stop_gradient: bool = True, **kwargs) -> str:
    return format_tensor(array, dtype_name=array.dtype.name, place="Place(cpu)", stop_gradient=stop_gradient, **kwargs)


# ---- recorded texts ---------------------------------------------------------------------------------------


def recorded_cases() -> list[tuple[str, str]]:
    """Return the recorded programs, each with the text that its last line printed."""
    section = FACTS.read_text().split("\n## Paddle 2.6.2\n")[1].split("\n## ")[0]
    cases, program = [], []
    for block in re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
        for entry in block.removeprefix(">>> ").split("\n>>> "):
            line, _, text = entry.partition("\n")
            program.append(line)
            if text:
                cases.append(("\n".join(program), text.rstrip("\n")))
                program = []
    return cases


def paddle_like() -> dict:
    """Return substitutes for Paddle's functions, so that the recorded lines make numpy arrays."""
    default = np.float32

    def to_tensor(data, dtype=None, stop_gradient=True):
        array = np.array(data, dtype=dtype)
        paddles = {"f": default, "i": np.int64}
        return array.astype(paddles[array.dtype.kind]) if dtype is None and array.dtype.kind in paddles else array

    return {
        "to_tensor": to_tensor,
        "arange": lambda stop, dtype=None: to_tensor(np.arange(stop), dtype),
        "linspace": lambda start, stop, num: np.linspace(start, stop, num, dtype=default),
        "zeros": lambda shape: np.zeros(shape, default),
        "ones": lambda shape: np.ones(shape, default),
        "full": lambda shape, value: np.full(shape, value, default),
        "eye": lambda n: np.eye(n, dtype=default),
        "set_printoptions": set_printoptions,
        "nan": math.nan,
        "inf": math.inf,
    }


CASES = recorded_cases()
NAMESPACE = paddle_like()
# These lines need more than an array, such as backward or a parameter.
NEEDS_AN_ENGINE = re.compile(r"\.grad$|create_parameter")
ARRAY_CASES = [case for case in CASES if not NEEDS_AN_ENGINE.search(case[0])]


def test_every_recorded_text_is_a_case():
    section = FACTS.read_text().split("\n## PyTorch")[0]
    assert len(CASES) == len(re.findall(r"^Tensor\(", section, re.MULTILINE)) > 70
    assert len(CASES) - len(ARRAY_CASES) == 2


@pytest.mark.parametrize(("program", "text"), ARRAY_CASES, ids=[program for program, _ in ARRAY_CASES])
def test_an_array_prints_as_paddle_printed_it(program, text):
    *statements, expression = program.split("\n")
    exec("\n".join(statements), NAMESPACE)
    array = np.asarray(eval(expression, NAMESPACE))
    assert printed(array, stop_gradient="stop_gradient=True" in text) == text


@pytest.mark.parametrize(("program", "text"), [case for case in CASES if case not in ARRAY_CASES])
def test_the_values_read_from_a_recorded_text_print_as_the_same_text(program, text):
    text = text.removeprefix("Parameter containing:\n")
    array = np.array(values_in(text), dtype=np.float32)
    assert printed(array, stop_gradient="stop_gradient=True" in text) == text


def values_in(text: str):
    """Return the nested list of values in the text of a tensor, which must show all of them."""
    values = text.split("\n", 1)[1].removesuffix(")")
    return eval(values.replace("inf.", "inf"), {"nan": math.nan, "inf": math.inf})


# ---- properties over random tensors -----------------------------------------------------------------------


def random_array(rng: np.random.Generator, dtypes: list[str]) -> np.ndarray:
    """Return an array of up to 6 dimensions, often with an empty or long dimension, or with unusual values."""
    choose = random.Random(int(rng.integers(2**31))).choice
    shape = [choose([0, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8]) for _ in range(choose([0, 1, 1, 2, 2, 3, 3, 4, 5, 6]))]
    if shape and choose([True, False]):
        shape[choose(range(len(shape)))] = choose([10, 40, 150, 1500])
    while math.prod(shape) > 20_000:
        shape.pop()
    dtype, size = np.dtype(choose(dtypes)), math.prod(shape)
    scale = choose([1, 1, 1000, 10.0 ** rng.integers(-12, 20)])
    values = rng.standard_normal(size) * scale
    if choose([True, False]):
        values = np.where(rng.random(size) < choose([0, 0.5, 1]), np.round(values), values)
    if choose([True, False]):
        values = np.abs(values)
    if size and choose([True, False]):
        outlier = choose([-1, -1000, 123456, 0.5, -0.25, -0.0])
        values[rng.integers(0, size, 1 + size // 300)] = outlier
    if dtype.kind == "f":
        special = choose([np.nan, np.inf, -np.inf, -0.0])
        values = np.where(rng.random(size) < choose([0, 0, 0.2, 1]), special, values)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        values = np.clip(values, limits.min / 2, limits.max / 2)
    if dtype.kind == "b":
        values = values > 0
    with np.errstate(over="ignore"):
        return values.astype(dtype).reshape(shape)


DTYPES = ["float32", "float64", "int32", "int64", "bool"]


def test_printed_values_of_any_shape_and_dtype_are_right_to_the_last_digit():
    rng = np.random.default_rng(26)
    read_back = 0
    for _ in range(600):
        array = random_array(rng, DTYPES)
        text = printed(array)
        assert text.startswith(f"Tensor(shape={list(array.shape)}, dtype={array.dtype}, ")
        if "..." in text:
            assert array.size > 1000 and max(array.shape) > 6
            continue
        values = np.array(values_in(text), dtype=array.dtype)
        assert values.shape == array.shape or array.size == 0
        if array.dtype.kind == "f":
            # The error is at most half a unit of the eighth digit plus the rounding of the parsed value to its dtype.
            last_digit, rounding = 0.51e-8, np.finfo(array.dtype).eps
            np.testing.assert_allclose(values.ravel(), array.ravel(), rtol=rounding, atol=last_digit)
        else:
            np.testing.assert_array_equal(values.ravel(), array.ravel())
        read_back += 1
    assert read_back > 400


def test_printing_never_fails_for_any_options_and_any_dtype_of_numbers():
    rng = np.random.default_rng(27)
    dtypes = [np.dtype(char).name for char in "?bhilqBHILQefdg"]
    for _ in range(500):
        set_printoptions(
            precision=int(rng.integers(0, 20)),
            threshold=int(rng.choice([0, 1, 10, 1000])),
            edgeitems=int(rng.integers(1, 5)),
            sci_mode=bool(rng.integers(2)),
            linewidth=int(rng.integers(0, 200)),
        )
        assert printed(random_array(rng, dtypes)).endswith(")")


@pytest.mark.parametrize(
    ("shape", "shown"),
    [((7,) + (1,) * 63, 7), ((1001,) + (1,) * 63, 6), ((2,) * 11, 2048), ((7,) * 4, 6**4), ((0,) + (7,) * 14, 0)],
    ids=["7, then 63 ones", "1001, then 63 ones", "11 twos", "4 sevens", "0, then 14 sevens"],
)
def test_arrays_of_many_dimensions_print(shape, shown):
    assert printed(np.zeros(shape)).count("0.") == shown


def test_an_array_of_any_strides_prints_like_its_copy():
    base = np.arange(48.0).reshape(4, 3, 4) - 20.5
    for view in (base.T, base[::-1, ::2], base[:, 1], np.broadcast_to(base[0, 0], (5, 4)), base.astype(">f8")):
        assert printed(view).split("\n", 1)[1] == printed(np.array(view, dtype="f8")).split("\n", 1)[1]


def test_the_indent_moves_the_values_and_counts_in_the_width_of_a_line():
    array = np.arange(60).reshape(2, 1, 30) - 7.5
    expected = printed(array).replace("\n       ", "\n   ")
    set_printoptions(linewidth=80 - 4)
    assert printed(array, indent=3) == expected


# ---- numpy's settings, memory, imports ----------------------------------------------------------------------


def test_printing_neither_uses_nor_changes_numpys_print_and_error_settings():
    arrays = [eval(program, NAMESPACE) for program in ("to_tensor([-1.5, nan, 1e20])", "arange(2000.)")]
    arrays += [np.array([np.nan, -np.inf, 6e-8], dtype=dtype) for dtype in ("float16", "float32", "float64")]
    expected = [printed(array) for array in arrays]
    odd = {"precision": 1, "threshold": 2, "linewidth": 10, "sign": "+", "legacy": "1.13", "suppress": True}
    with np.printoptions(**odd, formatter={"all": lambda value: "?"}), np.errstate(all="raise"):
        before = repr(np.get_printoptions())
        assert [printed(array) for array in arrays] == expected
        assert repr(np.get_printoptions()) == before


@pytest.mark.parametrize("shape", [(10_000, 10_000), (3, 50_000_000), (100_000_000,)], ids=str)
def test_printing_a_large_array_reads_only_its_edges(shape):
    array = np.broadcast_to(np.float32(1), shape)
    printed(array)
    tracemalloc.start()
    text = printed(array)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "[1., 1., 1., ..., 1., 1., 1.]" in text
    assert peak < 50_000  # bytes


def test_printing_imports_only_numpy_and_the_standard_library():
    imported = set()
    for node in ast.walk(ast.parse(Path(printing.__file__).read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module.split(".")[0])
    assert imported <= sys.stdlib_module_names | {"numpy"}


# ---- options ----------------------------------------------------------------------------------------------


def test_omitted_options_stay_unchanged():
    set_printoptions(precision=2)
    set_printoptions(linewidth=40)
    set_printoptions()
    assert printed(np.array([0.125, 3.0])).endswith("[0.12, 3.  ])")


@pytest.mark.parametrize(
    ("option", "error", "message"),
    [
        ({"precision": -1}, ValueError, "precision must be at least 0, not -1"),
        ({"threshold": -1}, ValueError, "threshold must be at least 0, not -1"),
        ({"edgeitems": 0}, ValueError, "edgeitems must be at least 1, not 0"),
        ({"linewidth": -1}, ValueError, "linewidth must be at least 0, not -1"),
        ({"precision": 3.5}, TypeError, "precision must be an integer, not 3.5"),
        ({"linewidth": "wide"}, TypeError, "linewidth must be an integer, not 'wide'"),
        ({"edgeitems": True}, TypeError, "edgeitems must be an integer, not True"),
        ({"sci_mode": 1}, TypeError, "sci_mode must be True or False, not 1"),
    ],
)
def test_an_invalid_option_is_refused_and_nothing_is_set(option, error, message):
    array = np.linspace(0, 1, 11)
    expected = printed(array)
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        set_printoptions(**({"precision": 2, "linewidth": 30, "sci_mode": True} | option))
    assert printed(array) == expected


# ---- the real framework -----------------------------------------------------------------------------------


def test_random_tensors_print_as_the_installed_paddle_prints_them():
    paddle = pytest.importorskip("paddle", reason="paddlepaddle==2.6.2 is not installed")
    if paddle.__version__ != "2.6.2":
        pytest.skip(f"paddle is {paddle.__version__}, not 2.6.2")
    rng = np.random.default_rng()
    choices = {
        "precision": [0, 1, 4, 8, 12],
        "threshold": [0, 10, 1000],
        "edgeitems": [1, 2, 3, 5],
        "sci_mode": [False, True],
        "linewidth": [0, 20, 79, 80, 81, 120],
    }
    for _ in range(2000):
        options = {name: rng.choice(values).item() for name, values in choices.items()}
        if rng.random() < 0.6:
            options = DEFAULTS
        array = random_array(rng, [*DTYPES, "float16"])
        set_printoptions(**options)
        paddle.set_printoptions(**options)
        assert printed(array) == repr(paddle.to_tensor(array)), (options, array)
