"""Test that names of classes and files are used once, that no class has only one subclass in its folder, and that each
module defines the names that it exports.

The exceptions are in tables. A test fails if an entry of a table is no longer needed.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from tools.build import ROOT
from tools.environment import PACKAGES

FOLDERS = (*PACKAGES, "tools", "_ext", "benchmarks")

#: Classes that Paddle and PyTorch name alike: one for each framework.
OF_BOTH_FRAMEWORKS = {
    "Adam", "AdamW", "BatchSampler", "Bernoulli", "Categorical", "DataLoader", "Distribution", "Dropout", "Embedding",
    "Flatten", "GRU", "GRUCell", "GradScaler", "GroupNorm", "Identity", "LRScheduler", "LSTM", "LSTMCell", "LayerNorm",
    "Linear", "Normal", "Optimizer", "Parameter", "RandomSampler", "SGD", "Sequential", "Tensor", "TensorDataset",
    "Unflatten", "Uniform", "set_grad_enabled", "_BatchNorm",
}  # fmt: skip

#: Names that Paddle gives to a distribution and to the initializer that draws from it.
ALSO_INITIALIZERS = {"Normal", "Uniform"}

#: Classes of ``torch.amp`` that PyTorch has a second time in ``torch.cuda.amp``, as subclasses that warn.
ALSO_IN_CUDA = {"GradScaler", "autocast"}

#: Other classes whose name is defined more than once. They should be renamed; add no entry.
REPEATED_CLASSES = {"Library", "Meter"}

#: Names that several files have because they are about the same subject, each with the difference between the files.
#: "Rows" are those of the engine's table of operations.
SAME_THING = {
    "monkeypatches.py": "of each framework that the stage follows",
    "__init__.py": "a package",
    "__main__.py": "the command of a package",
    "activations.py": "kernels, rows and layers",
    "amp.py": "the module of PyTorch, and the one with its older names",
    "attention.py": "the operation and its layers",
    "backward.py": "of each framework that the stage follows",
    "calls.py": "of each framework that the stage follows",
    "cuda.py": "of the engine and of each framework",
    "diagonals.py": "kernels and rows",
    "dtypes.py": "of the engine and with PyTorch's names",
    "events.py": "of the engine and of the stage",
    "engine.py": "of each framework that the stage follows",
    "functional.py": "the public module of each framework",
    "functions.py": "kernels, rows and PyTorch's names; and of each framework that the stage follows",
    "graph.py": "the graph that a stage shows, and the public module of PyTorch",
    "indexed.py": "kernels and rows",
    "indexing.py": "of the engine and with PyTorch's rules",
    "integers.py": "kernels and rows",
    "layers.py": "of each framework",
    "logic.py": "kernels and rows",
    "masked.py": "kernels and rows",
    "matrices.py": "kernels and rows",
    "modes.py": "of the engine and of each framework",
    "optimizer.py": "of each framework",
    "parameter.py": "of each framework",
    "pooling.py": "the operation and its layers",
    "printing.py": "of the engine and as PyTorch prints",
    "random.py": "kernels, rows and PyTorch's names",
    "recurrent.py": "the operation and its layers",
    "reducing.py": "kernels and rows",
    "rounding.py": "kernels and rows",
    "scans.py": "kernels and rows",
    "special.py": "kernels and rows",
    "tensor.py": "of the engine and of PyTorch",
    "utils.py": "the public module of each framework",
}

#: Other names of files that repeat. They should be renamed; add no entry.
REPEATED_FILES = {
    "arguments.py",
    "cells.py",
    "changes.py",
    "compiling.py",
    "entries.py",
    "errors.py",
    "gradients.py",
    "live.py",
    "making.py",
    "moving.py",
    "names.py",
    "naming.py",
    "operands.py",
    "parts.py",
    "peers.py",
    "places.py",
    "recording.py",
    "refusals.py",
    "report.py",
    "saved.py",
    "states.py",
    "threads.py",
}

#: Pairs of a class and its only subclass in the same folder. The two classes of a pair in TWO_THINGS are two concepts,
#: which the text describes. Those of a pair in CHAINS are one concept that was divided in two, but should be
#: composed, so add no entry to CHAINS.
TWO_THINGS = {
    ("Adam", "AdamW"): "public names of the frameworks",
    ("EventLog", "MemoryLog"): "a log of any events; the one that measures memory",
    ("Hook", "AfterHook"): "called before and after accumulation",
    ("KaimingUniform", "KaimingNormal"): "public names of Paddle",
    ("Node", "Leaf"): "a node of an operation; the node of a leaf",
    ("PyLayer", "Recomputed"): "a public base class; one layer written with it",
    ("Storage", "DeviceStorage"): "memory of the host; memory of a device",
    ("XavierUniform", "XavierNormal"): "public names of Paddle",
    ("_Line", "_Widget"): "progress in a terminal; in a notebook",
    ("set_detect_anomaly", "detect_anomaly"): "public names of PyTorch",
}
CHAINS = {("Hooked", "Module")}


#: Each class of a file, with its bases.
Classes = list[tuple[str, list[str]]]


@cache
def sources() -> dict[str, Classes]:
    """Return the classes of each file of the packages, keyed by its path."""
    paths = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): classes(path.read_text("utf-8")) for path in paths}


def classes(source: str) -> Classes:
    found, bodies = [], [ast.parse(source).body] if re.search(r"^\s*class ", source, re.MULTILINE) else []
    for body in bodies:
        for node in body:
            if isinstance(node, ast.ClassDef):
                found.append((node.name, [ast.unparse(base).partition("[")[0] for base in node.bases]))
            bodies += [inner for name in ("body", "orelse") if isinstance(inner := getattr(node, name, ()), list)]
    return found


def defined(files: dict[str, Classes]) -> dict[str, list[str]]:
    """Return the files that define a class of each name."""
    found = defaultdict(list)
    for path, inside in files.items():
        for name, _ in inside:
            found[name].append(path)
    return found


def chains(files: dict[str, Classes]) -> set[tuple[str, str]]:
    """Return the classes that have exactly one subclass in their own folder, each with this subclass."""
    folders = defaultdict(dict)
    for path, inside in files.items():
        folders[str(Path(path).parent)][path] = inside
    found = set()
    for folder in folders.values():
        names, below = defined(folder), defaultdict(set)
        for name, bases in (each for inside in folder.values() for each in inside):
            for base in names.keys() & set(bases):
                below[base].add(name)
        found |= {(name, *only) for name, only in below.items() if len(only) == 1}
    return found


def test_a_class_name_is_defined_once():
    repeated = {name for name, paths in defined(sources()).items() if len(paths) > 1}
    known = OF_BOTH_FRAMEWORKS | ALSO_IN_CUDA | REPEATED_CLASSES
    assert repeated - known == set(), "rename the new class"
    assert known - repeated == set(), "remove these entries: they are defined once"


@pytest.mark.parametrize("name", sorted(OF_BOTH_FRAMEWORKS))
def test_each_framework_has_one_class_of_a_name_that_both_have(name: str):
    paths = defined(sources())[name]
    assert len(paths) == 2 + (name in ALSO_INITIALIZERS | ALSO_IN_CUDA)
    assert sum(path.startswith("minitensor/torch/") for path in paths) == 1 + (name in ALSO_IN_CUDA)


def test_a_file_name_repeats_only_for_the_same_thing():
    named = defaultdict(list)
    for path in sources():
        named[Path(path).name].append(path)
    repeated = {name for name, paths in named.items() if len(paths) > 1}
    assert repeated - set(SAME_THING) - REPEATED_FILES == set(), "rename the new file"
    assert (set(SAME_THING) | REPEATED_FILES) - repeated == set(), "remove these entries: they are used once"
    assert set(SAME_THING) & REPEATED_FILES == set()


def test_no_class_has_exactly_one_subclass_in_its_own_package():
    found = chains(sources())
    assert found - set(TWO_THINGS) - CHAINS == set(), "make one class of the two, or compose them"
    assert (set(TWO_THINGS) | CHAINS) - found == set(), "remove these entries: they are no longer needed"


def test_a_planted_chain_and_a_planted_name_are_found():
    texts = {"a/b.py": "class A: ...\nclass B(A): ...\nclass C: ...\nclass D(C): ...\nclass E(C): ...",
             "a/c/d.py": "class A: ...\nclass F(E[int]): ..."}  # fmt: skip
    files = {path: classes(text) for path, text in texts.items()}
    assert chains(files) == {("A", "B")}
    assert [name for name, paths in defined(files).items() if len(paths) > 1] == ["A"]


def undefined(path: Path, source: str) -> set[str]:
    """Return the names in a module's ``__all__`` that the module does not define.

    The linter does not find them in ``__init__.py``. The set is empty for a module that imports ``*`` or defines
    ``__getattr__``.
    """
    if "__all__" not in source or re.search(r"^from \S+ import \*|^def __getattr__", source, re.MULTILINE):
        return set()
    bound, exported = {child.stem for child in path.parent.iterdir()} if path.name == "__init__.py" else set(), set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            bound.add(node.name)
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        if isinstance(node, ast.Assign) and "__all__" in map(ast.unparse, node.targets):
            listed = [
                each for part in ast.walk(node.value) if isinstance(part, (ast.List, ast.Tuple)) for each in part.elts
            ]
            exported |= {each.value for each in listed if isinstance(each, ast.Constant)}
    return exported - bound


def test_a_module_defines_the_names_that_it_exports():
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    assert {path.name: names for path in paths if (names := undefined(path, path.read_text("utf-8")))} == {}


def test_a_planted_export_of_an_undefined_name_is_found(tmp_path: Path):
    (tmp_path / "inner").mkdir()
    text = "from a import b as c\nimport d.e\nf = 1\n__all__ = ['b', 'c', 'd', 'f', 'inner']"
    assert undefined(tmp_path / "__init__.py", text) == {"b"}
    assert undefined(tmp_path / "module.py", text) == {"b", "inner"}
