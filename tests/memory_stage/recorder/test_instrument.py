"""Test the recorder's hooks: they add no names to a program, and no function has a hook after the recording."""

from __future__ import annotations

import builtins
import copy
import inspect
import linecache
import pickle
import sys
import warnings

import pytest

import memory_stage as stage
import minitensor as mt
from memory_stage.recorder import instrument, record

FUNCTION = '''\
def f(x):
    """Double."""
    y = x * 2
    return y
'''


def run(source: str, namespace: dict | None = None, **settings) -> dict:
    """Record a program, and return its names afterwards."""
    names = {"__name__": "__main__", "mt": mt} if namespace is None else namespace
    error = record.run(source, names, file="<program>", **settings).error
    if error is not None:
        raise error
    return names


def defined_earlier(source: str) -> dict:
    """Run a cell before the recording, and return its names."""
    names = {"__name__": "__main__", "mt": mt}
    linecache.cache["<earlier>"] = (len(source), None, source.splitlines(True), "<earlier>")
    exec(compile(source, "<earlier>", "exec", dont_inherit=True), names)
    return names


def has_hooks(code) -> bool:
    consts = code.co_consts
    return instrument.HOOK in consts or any(has_hooks(each) for each in consts if inspect.iscode(each))


def test_a_recording_adds_no_name_to_builtins_or_to_the_programs_names():
    source = FUNCTION + "import builtins\nseen = set(vars(builtins))\nown = set(globals())\nf(mt.ones([2]))\n"
    names = run(source)
    assert names["seen"] - set(vars(builtins)) == set()
    assert not [name for name in names["seen"] if "stage" in name]
    assert names["own"] == {"__name__", "__builtins__", "mt", "f", "builtins", "seen"}


def test_a_function_is_hooked_while_the_program_runs_and_has_the_plain_code_afterwards():
    names = run(FUNCTION + "import inspect\nconsts = f.__code__.co_consts\nlines = inspect.getsource(f)\n")
    assert instrument.HOOK in names["consts"]
    assert names["lines"] == FUNCTION
    plain: dict = {}
    exec(compile(FUNCTION, "<program>", "exec", dont_inherit=True), plain)
    assert names["f"].__code__ == plain["f"].__code__
    assert names["f"].__doc__ == "Double."


def test_functions_lose_their_hooks_at_the_step_that_reaches_the_limit():
    names = run(FUNCTION + "x = f(mt.ones([2]))\ny = x + 1\nz = f(y)\ncode = f.__code__\ndef g(): pass\n", limit=2)
    assert not has_hooks(names["code"])
    assert not has_hooks(names["g"].__code__)


@pytest.mark.parametrize("limit", [1, 100])
def test_functions_made_by_a_function_of_an_earlier_cell_lose_their_hooks(limit):
    names = defined_earlier("def make(n):\n    def inner(x):\n        y = x * n\n        return y\n    return inner\n")
    code = names["make"].__code__
    run("g = make(3)\nh = make(4)\nx = g(mt.ones([2]))\n", names, limit=limit)
    assert names["make"].__code__ is code and not has_hooks(code)
    assert [each.__code__ for each in (names["g"], names["h"])] == [code.co_consts[1]] * 2
    assert names["h"](1) == 4


def test_a_recording_keeps_no_function_of_an_earlier_cell_alive():
    names = defined_earlier("import weakref\ndef f(x, big=mt.ones([1000])):\n    return x\nalive = weakref.ref(f)\n")
    run("x = f(1)\ndel f\ngone = alive() is None\n", names)
    assert names["gone"]


def test_copying_or_unpickling_a_hooked_function_returns_the_function_itself():
    source = FUNCTION + "import copy, pickle, sys\n"
    source += (
        "same = [copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f))]\nassert all(g is f for g in same)\n"
    )
    before, sys.modules["__main__"] = sys.modules["__main__"], type(sys)("__main__")
    try:
        names = vars(sys.modules["__main__"])
        names["mt"] = mt
        run(source, names)
    finally:
        sys.modules["__main__"] = before


def test_copying_or_unpickling_the_hook_or_evaluating_its_repr_returns_the_same_object():
    hook = instrument.HOOK
    assert pickle.loads(pickle.dumps(hook)) is copy.copy(hook) is copy.deepcopy(hook) is eval(repr(hook)) is hook


def test_hooks_cause_no_warnings_and_the_warnings_of_the_program_remain():
    source = FUNCTION + "x = f(mt.ones([2]))\nfor i in range(2):\n    y = x is 1\n"
    with warnings.catch_warnings(record=True) as plain:
        warnings.simplefilter("always")
        compile(source, "<program>", "exec")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run(source)
    assert {(str(each.message), each.lineno) for each in found} == {(str(each.message), each.lineno) for each in plain}


def test_no_code_object_contains_the_placeholder_bytes_of_the_hook():
    names = run(FUNCTION + "class A:\n    def g(self):\n        return [f(i) for i in range(2)]\ncode = A.g.__code__\n")
    pending, consts = [names["code"], names["f"].__code__], []
    while pending:
        consts += (code := pending.pop()).co_consts
        pending += [each for each in code.co_consts if inspect.iscode(each)]
    assert not [each for each in consts if isinstance(each, bytes)]


def test_recording_a_program_with_a_syntax_error_raises_syntax_error():
    with pytest.raises(SyntaxError):
        stage.record("x = 1\nreturn x")
