"""Test that the router forwards each question (a method of the protocol) to the engine that owns its first argument."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from memory_stage.engines import protocol
from memory_stage.engines.protocol import Engine
from memory_stage.engines.router import Router
from minitensor.engine.modes import DEFAULT_POLICY, POLICIES

QUESTIONS = sorted(name for name in vars(Engine) if not name.startswith("_"))


class EchoEngine:
    """An engine that owns one object and answers each question with that object, the question and its arguments."""

    has_framework = True

    def __init__(self, own: object) -> None:
        self._own = own

    def is_tensor(self, x):
        return x is self._own

    owns = is_tensor

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments: (self._own, name, *arguments)


def parameters(question) -> list[tuple[str, object]]:
    return [(each.name, each.kind) for each in list(inspect.signature(question).parameters.values())[1:]]


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_router_has_a_method_for_every_question_of_the_protocol(question: str):
    assert question in vars(Router)


@pytest.mark.parametrize("question", [name for name in QUESTIONS if "_by_" in repr(vars(Router)[name])])
def test_the_router_forwards_a_question_to_the_engine_that_owns_its_argument(question: str):
    one, other = object(), object()
    router = Router()
    router.engines = [EchoEngine(one), EchoEngine(other)]
    subject = next(iter(parameters(getattr(Engine, question))), ("",))[0]
    further = range(len(parameters(getattr(Engine, question))) - 1)
    if not subject:
        assert getattr(router, question)() == [one, question, other, question]
    elif question in ("is_tensor", "owns"):
        assert getattr(router, question)(other) and not getattr(router, question)(object())
    elif question in ("is_shown", "is_other_vocabulary"):
        assert getattr(router, question)(other) is True
    elif question in ("slots", "storage_behind"):
        assert getattr(router, question)(other) == (one, question, other)
    else:
        assert getattr(router, question)(other, *further) == (other, question, other, *further)
        assert getattr(router, question)(one, *further) == (one, question, one, *further)


def test_the_methods_of_the_engine_have_the_parameters_of_the_protocol():
    for engine in (type(Router().engines[0]),):
        for question in QUESTIONS:
            asked = getattr(Engine, question)
            if not isinstance(asked, property):
                assert parameters(getattr(engine, question)) == parameters(asked), question


def test_the_policies_of_the_protocol_are_those_of_minitensor():
    assert tuple(POLICIES) == protocol.POLICIES and protocol.DEFAULT_POLICY == DEFAULT_POLICY


WITHOUT = """\
import sys
sys.modules["minitensor"] = None  # an import of it raises, as if it were not installed
import numpy as np
import memory_stage as stage
from memory_stage.engines.router import Router
assert Router().engines == [] and Router().current_policy() == "2.6"
shown = stage.record("import numpy as np\\nx = np.ones(3)\\nx += 1\\nprint(x)")
assert shown.error is None and not any(step["events"] for step in shown.data["variants"][0]["steps"]), shown.data
assert "out" in str(shown.data) and stage.record("1 / 0").data["variants"][0]["verdict"] == "raises"
"""


def test_a_program_is_recorded_without_minitensor():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
