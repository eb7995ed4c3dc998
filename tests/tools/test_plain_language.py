"""The check of the language: planted sentences are found, good ones are not, and each package keeps its limits."""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

from tools import check, plain_language
from tools.build import ROOT


def findings(path: Path, source: str) -> list[tuple[int, str, str]]:
    path.write_text(source)
    found = plain_language.measure(plain_language.texts(path)).findings
    return [(each.line, each.kind, " ".join(each.words.split())) for each in found]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""Return the rows.\n\nWhat is left is freed."""\n', [(3, "what", "What"), (3, "openings", "What")]),
        ('def f():\n    """Who saves notes the version."""\n', [(2, "openings", "Who")]),
        ("x = 1  # the engine is told\n", [(1, "told", "told")]),
        ("# A buffer is freed. Of\n# these, two are kept.\n", [(1, "openings", "Of")]),
        ("# A name that nobody hears\n", [(1, "phrases", "hears")]),
        ("# Each has a buffer of\n# its own.\n", [(1, "phrases", "of # its own")]),
        ("y = 2\n# Copied, and the version is so\n# too; the rest is so.\n", [(3, "phrases", "is so")]),
        ('class A:\n    """Rows.\n\n    Made are three of them.\n    """\n', [(4, "openings", "Made are")]),
        ("# The array is let go and stands alone.\n", [(1, "phrases", "let go"), (1, "phrases", "stands")]),
    ],
)
def test_a_planted_sentence_is_found_with_its_line(tmp_path, source: str, expected: list[tuple[int, str, str]]):
    expected = [(line, kind, words.replace("# ", "")) for line, kind, words in expected]
    assert sorted(findings(tmp_path / "a.py", source)) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    [
        '"""Return the saved tensors, if there are any."""\n',
        'print("what is told")  # noqa: T201\n',
        "x = {'a': 'what nobody hears'}\n",
        "# Who owns the buffer? The view.\n",
        "# Copy it, so it is safe to write. `what` is a column, and so is not read.\n",
        '"""Show what_is, for example ``what()``.\n\n>>> what(told)\nwhat\n"""\n',
        "# The axis is so large that it is split.\n",
    ],
)
def test_a_plain_sentence_is_not_found(tmp_path, source: str):
    assert findings(tmp_path / "a.py", source) == []


def test_comments_of_javascript_are_read_and_its_strings_are_not(tmp_path):
    source = "const a = 'what // told';\n/**\n * Draw the rows.\n * What is told.\n */\nlet b = /[\"']/; // it hears\n"
    assert findings(tmp_path / "a.js", source) == [
        (4, "what", "What"), (4, "told", "told"), (4, "openings", "What"), (6, "phrases", "hears"),
    ]  # fmt: skip


def test_prose_of_a_chapter_is_measured_without_its_code_and_links(tmp_path):
    prose = "(what)=\n# Views\n\n[told](what.md) and {ref}`what`."
    source = f"---\ntitle: what\n---\n{prose}\n\n```{{code-cell}}\nwhat\n```\n\nIt stands.\n"
    assert findings(tmp_path / "a.md", source) == [(7, "told", "told"), (13, "phrases", "stands")]


def test_rates_are_per_thousand_words_and_a_short_text_may_have_one_of_each():
    text = plain_language.Text("a.py", 1, "What " + "word " * 499)
    figures = plain_language.measure([text])
    assert figures.rates() == {"what": 2.0, "told": 0.0, "if": 0.0, "openings": 100.0, "phrases": 0.0}
    assert figures.over(plain_language.TARGET) == []
    assert plain_language.measure([text] * 2).over(plain_language.TARGET) == ["if", "openings"]


def test_the_command_prints_the_place_the_words_and_the_reason(tmp_path):
    (tmp_path / "a.py").write_text("# It lets go.\n")
    command = [sys.executable, "tools/plain_language.py", str(tmp_path / "a.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "a.py:1: 'lets go': say free, release or drop" in done.stdout
    (tmp_path / "a.py").write_text("# It frees the buffer.\n")
    assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0


@pytest.mark.parametrize("path", sorted((ROOT / "tools").glob("*.py")), ids=lambda path: path.name)
def test_the_check_reads_the_same_comments_and_docstrings_as_pythons_parser(path: Path):
    source = path.read_text(encoding="utf-8")
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    docstrings = [text for node in nodes if (text := ast.get_docstring(node, clean=False)) is not None]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = sum(token.type == tokenize.COMMENT for token in tokens)
    found = [each for each in plain_language.PYTHON.finditer(source)]
    assert sum(bool(each["comment"]) for each in found) == comments
    read = [text.words for text in plain_language.texts(path)][: len(docstrings)]
    assert sorted(map(len, read)) == sorted(map(len, docstrings))


# ---- limits ----------------------------------------------------------------------------------------------------------


def test_every_package_keeps_its_limits(capsys):
    status = plain_language.check()
    assert status == 0, capsys.readouterr().out[-3000:]


def test_limits_are_listed_only_for_packages_with_code_and_figures_that_miss_the_target():
    listed = json.loads(plain_language.LIMITS_FILE.read_text())
    assert set(listed) <= set(plain_language.packages(listed))
    for limits in listed.values():
        assert set(limits) <= set(plain_language.TARGET)
        assert all((rate < 3) if kind == "if" else rate > plain_language.TARGET[kind] for kind, rate in limits.items())


def test_a_package_over_its_limit_fails(monkeypatch, tmp_path, capsys):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "a.py").write_text("# It lets go.\n# It is told.\n" * 2)
    monkeypatch.setattr(plain_language, "ROOT", tmp_path)
    monkeypatch.setattr(plain_language, "limits", lambda: {"tools": plain_language.TARGET | {"told": 999.0}})
    assert plain_language.check() == 1
    assert "tools: phrases" in (out := capsys.readouterr().out) and "tools: told" not in out
    monkeypatch.setattr(
        plain_language, "limits", lambda: {"tools": plain_language.TARGET | {"told": 999.0, "phrases": 999.0}}
    )
    assert plain_language.check() == 0


def test_limits_are_tightened_and_never_raised(monkeypatch, tmp_path):
    (tmp_path / "tools").mkdir()
    source = tmp_path / "tools" / "a.py"
    monkeypatch.setattr(plain_language, "ROOT", tmp_path)
    monkeypatch.setattr(plain_language, "LIMITS_FILE", limits := tmp_path / "limits.json")
    limits.write_text('{"tools": {"what": 90, "if": 0}}')
    source.write_text("# It says what it does in a file.\n" * 20 + "# It stops if it has to.\n")
    for written, expected in [("", {"what": 90}), ("# A row has a name if it is read.\n" * 30, {"what": 60})]:
        source.write_text(source.read_text() + written)
        plain_language.tighten()
        entry = json.loads(limits.read_text())["tools"]
        assert entry["what"] <= expected["what"] and entry.get("if", 3) <= 3
    source.write_text("# It stops if it has to.\n")
    plain_language.tighten()
    assert json.loads(limits.read_text()) == {}


def test_the_check_of_the_language_is_a_step_of_make_check():
    assert check.STEPS["language"] == ["python", "tools/plain_language.py"]
