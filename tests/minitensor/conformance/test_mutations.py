"""Plant faults in the engine, one at a time, and check that the tests notice each of them.

This file plants ten faults in different files of the engine. ``python -m tests.mutations --all`` plants all faults.
"""

from __future__ import annotations

import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutations import planted  # noqa: F401  (all mutations)
from tests.mutations.mutation import MUTATIONS, ROOT, Mutation, sample
from tests.mutations.runner import Tree, path, write

#: The seed of the random choice of the ten faults.
SEED = 0


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Tree:
    return Tree(tmp_path_factory.mktemp("mutants").resolve())


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=lambda m: m.name)
def test_the_text_that_a_mutation_replaces_and_the_tests_of_the_mutation_exist(mutation: Mutation):
    compile(mutation.planted(mutation.source()), mutation.file, "exec")
    assert mutation.old != mutation.new and mutation.tests
    for tests in mutation.tests:
        file, _, function = path(tests).partition("::")
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not function or f"def {function.partition('[')[0]}(" in text


def test_no_planted_fault_uses_an_undefined_name(tmp_path: Path):
    """A NameError would make the tests fail, but would not show that they notice the intended fault."""
    for mutation in MUTATIONS.values():
        (tmp_path / f"{mutation.name}.py").write_text(mutation.planted(mutation.source()), encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "."]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_at_least_fifty_mutations_change_at_least_twenty_files():
    files = {m.file for m in MUTATIONS.values()}
    assert len(MUTATIONS) >= 50 and len(files) >= 20


@pytest.mark.parametrize("mutation", sample(10, SEED), ids=lambda m: m.name)
def test_a_planted_fault_is_noticed(mutation: Mutation, tree: Tree):
    verdict = tree.judge(mutation, with_others=False)
    assert verdict.verdict == "noticed", f"{mutation.sentence} {verdict.verdict}: {verdict.test} {verdict.message}"


def of_modes(new: str, tests: str) -> Mutation:
    """Return a mutation of the line that sets the default grad mode, to be judged by the given tests only."""
    return Mutation("a change", "minitensor/engine/modes.py", "grad: bool = True", new, "Nothing is wrong.", (tests,))


def test_a_change_without_an_effect_is_not_noticed(tree: Tree):
    same = of_modes("grad: bool = 1 == 1", "modes")
    assert tree.judge(same, with_others=False).verdict == "survived"


def test_a_mutation_with_a_syntax_error_is_not_counted_as_noticed(tree: Tree):
    for new in ("grad: bool = Treu", "self.grad = = True"):
        assert tree.judge(of_modes(new, "modes"), with_others=False).verdict == "broken"


@pytest.mark.parametrize("elsewhere", [False, True])
def test_writing_a_module_deletes_its_compiled_file(tmp_path, monkeypatch, elsewhere):
    """Python would run the outdated compiled file if the old and the new text are equally long and were written in
    the same second.
    """
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "compiled") if elsewhere else None)
    module = tmp_path / "module.py"
    module.write_text("value = 1\n", encoding="utf-8")
    compiled = Path(py_compile.compile(str(module)))
    assert compiled.exists() and ("__pycache__" not in compiled.parts) == elsewhere
    write(module, "value = 2\n")
    assert not compiled.exists() and module.read_text(encoding="utf-8") == "value = 2\n"


def test_a_test_that_fails_without_the_mutation_does_not_count(tree: Tree):
    failing = tree.folder / "tests/minitensor/engine/test_failing.py"
    failing.write_text("def test_fails():\n    assert False\n", encoding="utf-8")
    same = of_modes("grad: bool = 1 == 1", "failing")
    assert tree.judge(same, with_others=False).verdict == "survived"
    failing.unlink()


def test_a_mutation_of_text_that_the_file_lacks_is_refused():
    gone = Mutation("gone", "minitensor/engine/modes.py", "no such text", "", "", ("modes",))
    with pytest.raises(ValueError, match="occurs 0 times"):
        gone.planted(gone.source())
