"""The floors of the package: what each may import, no circle among modules, and each package says what it may do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import grimp
import pytest

from minitensor import events
from minitensor.stage.engines import engine as protocol
from tools.build import ROOT

#: Imports inside functions, and why they are not at the top of their file: the module that imports, what it imports.
IMPORTED_LATER = {
    # Start-up: most programs do without.
    ("minitensor", "minitensor.explaining"),
    ("minitensor", "minitensor.vocabulary.missing"),
    ("minitensor.device.places", "minitensor.device.cuda_arrays"),
    ("minitensor.device.places", "minitensor.device.simulated"),
    ("minitensor.vocabulary.missing", "minitensor.core.tensor"),
    ("minitensor.vocabulary.missing", "minitensor.vocabulary.nearest"),
    # IPython, which the package does without.
    ("minitensor.notebook", "minitensor.notebook.expect"),
    ("minitensor.notebook", "minitensor.notebook.explain_magic"),
    ("minitensor.notebook", "minitensor.notebook.ranks_magic"),
    ("minitensor.notebook", "minitensor.notebook.stage_magic"),
    # matplotlib, which the package does without.
    ("minitensor.stage.figures.paper", "minitensor.stage.figures.inked"),
    # All of the engine: the recorder is loaded without the names that it gives to a program.
    ("minitensor.stage.stages", "minitensor"),
    # What a page that records has no need of: it is left out of the package that the page loads.
    ("minitensor.stage.stages", "minitensor.stage.validation"),
}


@cache
def graph() -> grimp.ImportGraph:
    """Every import of the package, inside functions and for types as well."""
    return grimp.build_graph("minitensor", cache_dir=None)


def floors() -> list[set[str]]:
    """The floors as `pyproject.toml` has them, from the ground up."""
    written, *_ = re.findall(r"^layers = \[(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)
    return [set(line.split(" | ")) for line in reversed(re.findall(r'"(.*?)"', written))]


def circles(found: grimp.ImportGraph) -> Iterator[set[str]]:
    """The largest sets of modules of which each imports each, over any number of others (Tarjan, 1972)."""
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


def test_there_is_no_circle_of_modules():
    assert list(circles(graph())) == []


def test_every_package_and_every_file_beside_them_has_its_floor():
    there = {module.removeprefix("minitensor.") for module in graph().find_children("minitensor")}
    assert set().union(*floors()) == there


@pytest.mark.parametrize("package", sorted({path.parent.name for path in ROOT.glob("minitensor/*/__init__.py")}))
def test_a_package_says_what_it_promises_and_what_it_may_import(package: str):
    text = ast.get_docstring(ast.parse((ROOT / "minitensor" / package / "__init__.py").read_text())) or ""
    promise, _, may = text.partition("May import: ")
    assert len(promise) > 40
    at = next(i for i, floor in enumerate(floors()) if package in floor)
    allowed = set(re.findall(r"``(\w+)``", may.split(". Nothing")[0]))
    if "the ground files" in may:
        allowed |= floors()[0]
    if f"all that stands below ``{package}``" in may:
        allowed = allowed - {package} | set().union(*floors()[:at])
    elif below := re.search(r"all that stands below ``(\w+)``", may):
        upto = next(i for i, floor in enumerate(floors()) if below[1] in floor)
        allowed = set().union(*floors()[:upto])
    inside = {f"minitensor.{package}", *graph().find_descendants(f"minitensor.{package}")}
    imported = {other for module in inside for other in graph().find_modules_directly_imported_by(module)} - inside
    assert {module.split(".")[1] if "." in module else module for module in imported} <= allowed


#: The engines of frameworks say it together, in the package above them.
TOGETHER = {"of_torch", "of_paddle"}


@pytest.mark.parametrize(
    "path", sorted(str(path.parent.relative_to(ROOT)) for path in ROOT.glob("minitensor/*/**/__init__.py"))
)
def test_so_does_a_package_inside_another(path: str):
    text = ast.get_docstring(ast.parse((ROOT / path / "__init__.py").read_text())) or ""
    assert len(text.partition("May import: ")[0]) > 40
    assert "May import: " in text or path.rpartition("/")[2] in TOGETHER


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


def test_the_recorder_asks_an_engine_through_the_protocol_and_in_no_other_way():
    asked = {
        (module, imported)
        for package in ("minitensor.stage.recording", "minitensor.stage.wording", "minitensor.stage.books")
        for module in (package, *graph().find_descendants(package))
        for imported in graph().find_modules_directly_imported_by(module)
    }
    # Amounts in words, and room on the stack: nothing of the engine.
    asked = {each for each in asked if each[1] not in ("minitensor.amounts", "minitensor.room")}
    assert {(module, imported) for module, imported in asked if not imported.startswith("minitensor.stage.")} == set()
    adapter = "minitensor.stage.engines.together"
    others = {imported for _, imported in asked if imported.startswith("minitensor.stage.engines.")}
    assert others == {adapter, "minitensor.stage.engines.engine"}
    assert {module for module, imported in asked if imported == adapter} == {"minitensor.stage.recording.record"}


def test_the_protocol_tells_of_every_event_that_the_engine_has_but_those_of_an_allocator():
    engine, told = (set(re.findall(r"^``\"?(\w+)\"?`` ", text.__doc__, re.M)) for text in (events, protocol))
    assert len(told) > 10 and engine - told == {"block"}
    assert told - engine == {
        "met",
        "asked",
        "changed",
        "ended",
        "failed",
        "unseen",
    }  # what only engines need that do not see all
