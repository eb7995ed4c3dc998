"""Test the imports of the packages: no imports are circular, and the recorder imports only the protocol of engines."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, get_args

import grimp
import pytest

from memory_stage.engines import events
from memory_stage.engines.minitensor.engine import TRANSLATED
from minitensor.engine import events as engine_events
from tools.build import ROOT
from tools.environment import PACKAGES

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Imports inside functions (importing module, imported module), grouped by the reason.
IMPORTED_LATER = {
    # A faster start: most programs do not need these modules.
    ("minitensor", "minitensor.paddle.missing"),
    ("minitensor.nn", "minitensor.engine.layers.declared"),
    ("minitensor.engine.device.places", "minitensor.engine.device.cuda_arrays"),
    ("minitensor.engine.device.places", "minitensor.engine.device.simulated"),
    ("minitensor.torch.autograd.gradient_checks", "minitensor.engine.autograd.gradcheck"),
    ("minitensor.paddle.missing", "minitensor.engine.core.tensor"),
    ("minitensor.paddle.missing", "minitensor.paddle.nearest"),
    # These modules need IPython, which the package does not require.
    ("book_kit", "book_kit.magics.expect"),
    ("book_kit", "memory_stage.integrations.explain_magic"),
    ("book_kit", "book_kit.magics.ranks_magic"),
    ("book_kit", "book_kit.magics.stage_magic"),
    ("memory_stage", "memory_stage.integrations.explain_magic"),
    # This module needs matplotlib, which the package does not require.
    ("memory_stage.figures.paper", "memory_stage.figures.inked"),
    # Pytest loads the plugin in every run, even if its option is not given.
    ("memory_stage.integrations.pytest_plugin", "memory_stage.explanation.whole_run.explanation"),
    # The recorder is also used without minitensor, for programs of other frameworks.
    ("memory_stage.api", "minitensor"),
    # A page in a browser does not validate its recordings, so it does not need this module.
    ("memory_stage.api", "memory_stage.trace.validation"),
}


@cache
def graph() -> grimp.ImportGraph:
    """Return the graph of all imports of the packages, including those inside functions and those only for types."""
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def contracts() -> list[dict[str, Any]]:
    """Return the contracts of `lint-imports` from `pyproject.toml`."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["tool"]["importlinter"]["contracts"]


def circles(found: grimp.ImportGraph) -> Iterator[set[str]]:
    """Yield the largest sets of modules that import each other, directly or indirectly (Tarjan, 1972)."""
    number: dict[str, int] = {}
    reaches: dict[str, int] = {}
    path: list[str] = []

    def visit(module: str) -> Iterator[set[str]]:
        number[module] = reaches[module] = len(number)
        path.append(module)
        for other in found.find_modules_directly_imported_by(module):
            if other not in number:
                yield from visit(other)
            if other in path:
                reaches[module] = min(reaches[module], reaches[other])
        if reaches[module] == number[module]:
            circle = set(path[path.index(module) :])
            del path[path.index(module) :]
            if len(circle) > 1:
                yield circle

    for module in sorted(found.modules):
        if module not in number:
            yield from visit(module)


def test_a_circle_is_found_in_a_graph_that_has_one():
    made = grimp.ImportGraph()
    for importer, imported in ["ab", "bc", "ca", "cd", "de", "ef", "fe"]:
        made.add_import(importer=importer, imported=imported)
    assert sorted(map(sorted, circles(made))) == [["a", "b", "c"], ["e", "f"]]


def test_modules_do_not_import_each_other_in_a_circle():
    assert list(circles(graph())) == []


def test_each_package_has_layers_and_each_of_its_modules_belongs_to_a_layer():
    covered = [each for each in contracts() if each["type"] == "layers" and "containers" in each]
    assert {container for each in covered for container in each["containers"]} == {*PACKAGES, "minitensor.engine"}
    assert all(each["exhaustive"] for each in covered)
    assert {"layers": list(reversed(PACKAGES)), "type": "layers"}.items() <= contracts()[0].items()


@pytest.mark.parametrize(
    "path",
    sorted(str(path.parent.relative_to(ROOT)) for each in PACKAGES for path in ROOT.glob(f"{each}/**/__init__.py")),
)
def test_a_package_has_a_docstring_about_its_contents(path: str):
    assert len(ast.get_docstring(ast.parse((ROOT / path / "__init__.py").read_text())) or "") > 40


def test_an_import_inside_a_function_is_listed_with_its_reason():
    later = {
        (module, imported)
        for module in graph().modules
        for imported in graph().find_modules_directly_imported_by(module)
        if is_only_inside_functions(module, imported)
    }
    assert later - IMPORTED_LATER == set()


def is_only_inside_functions(module: str, imported: str) -> bool:
    lines = {each["line_number"] for each in graph().get_import_details(importer=module, imported=imported)}
    path = ROOT / module.replace(".", "/")
    source = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
    functions = [node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.FunctionDef)]
    return all(any(f.lineno < line <= (f.end_lineno or 0) for f in functions) for line in lines)


def test_the_recorder_imports_only_the_protocol_of_engines():
    imports = {
        (module, imported)
        for package in ("memory_stage.recorder", "memory_stage.sentences", "memory_stage.model")
        for module in (package, *graph().find_descendants(package))
        for imported in graph().find_modules_directly_imported_by(module)
    }
    assert {each for each in imports if not each[1].startswith("memory_stage.")} == set()
    router = "memory_stage.engines.router"
    assert {imported for _, imported in imports if imported.startswith("memory_stage.engines.")} == {
        router,
        "memory_stage.engines.events",
        "memory_stage.engines.protocol",
    }
    assert {module for module, imported in imports if imported == router} == {"memory_stage.recorder.record"}


def test_an_event_of_minitensor_is_translated_to_an_event_of_the_stage_with_as_many_fields():
    apart = {engine_events.OperationRefused, engine_events.BackwardRefused, engine_events.AllocatorChanged}
    assert set(get_args(engine_events.Event)) == set(TRANSLATED) | apart
    for kind, stage_kind in TRANSLATED.items():
        optional = len(stage_kind._field_defaults)
        assert len(stage_kind._fields) - optional == len(kind._fields)
        assert stage_kind in get_args(events.Event)


@pytest.mark.parametrize("module", [events, engine_events])
def test_every_event_belongs_to_the_type_of_events_and_has_a_docstring(module: ModuleType):
    kinds = {each for each in vars(module).values() if isinstance(each, type) and hasattr(each, "_fields")}
    assert kinds == set(get_args(module.Event)) and len(kinds) > 10
    without = [kind for kind in kinds if (kind.__doc__ or "").startswith(f"{kind.__name__}(")]  # a generated docstring
    assert without == []
