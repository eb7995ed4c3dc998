"""Test that a framework is recorded as soon as the program has imported it, by an engine for that framework."""

from __future__ import annotations

import gc
import sys
import types
import weakref

import pytest

import memory_stage as stage
from memory_stage.engines import events, router
from memory_stage.engines.minitensor.engine import MinitensorEngine
from memory_stage.engines.protocol import NotRecordable
from tests.support.stage.stages import sentences_of


class Framework(MinitensorEngine):
    """An engine of a framework without tensors. It notes each subscription."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def is_tensor(self, value):
        return False

    is_shown = owns = is_tensor

    def storage_behind(self, array):
        return None

    def shared_storages(self):
        return []

    def gpus(self):
        return []

    def allocated(self):
        return 0

    def listen(self, emit):
        self.emit = emit
        subscription = super().listen(events.ignore)
        self.log.append("subscribed")
        return subscription


@pytest.fixture
def framework(monkeypatch):
    """Make a framework that a program can import. Return the list of its engines, and the module that makes them."""
    made: list[Framework] = []

    def engine():
        made.append(Framework())
        return made[-1]

    module, engine_module = types.ModuleType("a_framework"), types.ModuleType("its_engine")
    engine_module.engine = engine
    monkeypatch.setitem(sys.modules, "its_engine", engine_module)
    monkeypatch.setitem(router.FRAMEWORKS, "a_framework", "its_engine")
    monkeypatch.setitem(sys.modules, "the_framework_not_imported", module)
    yield types.SimpleNamespace(made=made, engine_module=engine_module)
    sys.modules.pop("a_framework", None)


IMPORTS = """\
import sys
sys.modules['a_framework'] = sys.modules['the_framework_not_imported']
x = mt.ones([2])
x.add_(x)"""


def test_a_framework_is_recorded_once_the_program_has_imported_it_and_not_before(framework):
    stage.record("x = mt.ones([2])")
    assert framework.made == []
    shown = stage.record(IMPORTS)
    (engine,) = framework.made
    assert engine.log == ["subscribed"]
    assert sentences_of(shown)[-1].startswith("`add_` writes all 2 cells")


def test_an_imported_framework_is_recorded_from_the_start_with_an_engine_for_each_recording(framework):
    sys.modules["a_framework"] = sys.modules["the_framework_not_imported"]
    stage.record("x = mt.ones([2])")
    stage.compare({"a": "x = mt.ones([2])", "b": "x = mt.ones([3])"})
    assert len(framework.made) >= 3
    assert sum(len(engine.log) for engine in framework.made) == 3


def test_an_unsupported_version_of_a_framework_is_reported_and_the_program_continues(framework):
    def engine():
        raise NotRecordable("A framework 0.1 is not recorded. Recording needs 0.2 or later.")

    framework.engine_module.engine = engine
    sentences = sentences_of(stage.record(IMPORTS))
    assert "A framework 0.1 is not recorded. Recording needs 0.2 or later." in " ".join(sentences)
    assert sentences[-1].startswith("`add_` writes all 2 cells")


def test_a_recording_keeps_no_engine_alive(framework):
    stage.record(IMPORTS)
    engine = weakref.ref(framework.made.pop())
    gc.collect()
    assert engine() is None
