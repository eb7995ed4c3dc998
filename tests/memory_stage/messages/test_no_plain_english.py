"""Test that each English phrase that a reader of a stage sees is a message, which can be translated.

A phrase is a literal with two words. Some phrases are for other readers: docstrings, errors that are raised, the help
of commands, and the parts of frameworks' errors by which a report recognizes them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tools import messages as catalogues

ROOT = catalogues.ROOT / "memory_stage"
SCRIPTS = ROOT / "web" / "js"

#: Two English words, or one word at the start or the end of a text, because the code may join another text there.
PHRASE = re.compile(
    r"(?<![\w`'.])[A-Za-z][a-z]+ [a-z]{2,}|[a-z]{2,} [A-Za-z]{2,}|\b[a-z]{2,} $|^[,;:]? [a-z]{2,}|\s[a-z]{2,} "
)

#: Functions whose arguments need no check: messages, patterns, parts of texts, options and errors.
_CALLS = {
    *catalogues.CALLS,
    *("compile", "search", "match", "findall", "fullmatch", "sub", "split"),
    *("startswith", "endswith", "partition", "removeprefix"),
    *("add_argument", "ArgumentParser", "argument", "addoption", "has_code"),
}

#: Files that are not checked. A reader of a stage sees only the messages in them; their other literals are errors of
#: the validation of a trace, and the help and the errors of the commands.
_FOR_OTHERS = {"trace/validation.py", "__main__.py", "explanation/whole_run/command.py"}

#: Maps a file to its literals that no reader of a stage or a report sees.
_NOT_SHOWN = {
    # descriptions of the members of an enumeration
    "engines/protocol.py": {
        "a value that the program began with",
        "the result of an operation",
        "the part of a view group's value that a view shows",
        "a view group's value after a write through a view of a part; its parents are the old value and the new part",
        "a leaf before an unrecorded change of its shape",
        "released by backward",
        "overwritten, and backward reads the new bytes because it checks no version",
        "unchanged, and no later write can change it because all of it was copied",
        "unchanged, but backward raises an error because the version of its storage has changed",
        "overwritten, so backward raises an error",
    },
    # parts of frameworks' errors
    "engines/torch/backward.py": {"modified by an inplace operation"},
    "engines/torch/function_mode.py": {
        "This view is the output of a function that returns multiple views",
        "a leaf Variable that requires grad",
        "a view of a leaf Variable",
        "can't be cast to the desired output type",
        "leaf variable has been moved",
        "more than one element of the written-to tensor refers to a single memory location",
    },
    "explanation/advice.py": {
        *("leaf Variable", "Leaf Var", "Leaf Tensor"),
        "more than one element of the written-to tensor",
    },
    "explanation/whole_run/freed_graph.py": {"Trying to backward through the graph a second time", "graph freed"},
    "explanation/whole_run/overwritten.py": {"modified by an inplace operation", "has been detached in-place"},
    "explanation/whole_run/paddle_faults.py": {
        "has been modified by an inplace operation",
        "backward twice for the same subgraph",
        *("history cut", "graph freed", "saved "),
    },
    "explanation/whole_run/refusals.py": {
        "At least one stride in the given numpy array is negative",
        "Can't call numpy() on Tensor that requires grad",
        "Cannot cast ufunc",
        "Inference tensors cannot be saved for backward",
        "Such functions do not allow the output views to be modified inplace",
        "a leaf Variable that requires grad is being used in an in-place operation",
        "can't optimize a non-leaf Tensor",
        "created in no_grad mode and is being modified inplace with grad mode enabled",
        "functions with out=... arguments don't support automatic differentiation",
        "destination is read-only",
        "does not require grad and does not have a grad_fn",
        "doesn't match the broadcast shape",
        "dtype can require gradients",
        "more than one element of the written-to tensor refers to a single memory location",
        "of BackwardHookFunction",
        "output array is read-only",
        "some elements of the input tensor and the written-to tensor refer to a single memory location",
        "support the deepcopy protocol",
        "that doesn't stop gradient can't use inplace strategy",
        "view size is not compatible with input tensor's size and stride",
        "with torch.no_grad():",
        "you can only change requires_grad flags of leaf variables",
    },
    # words in a report in JSON, which tools read
    "explanation/entry_phrases.py": {"an optimizer"},
    "explanation/minitensor/alternatives.py": {"an optimizer"},
    "explanation/step_reporter.py": {"by versions"},
    "explanation/whole_run/array_faults.py": {"overwritten silently"},
    "explanation/whole_run/copied_losses.py": {"history cut"},
    "explanation/whole_run/overwritten_fault.py": {"overwritten silently"},
    "explanation/whole_run/second_pass.py": {"graph freed", "tuple(each.detach() for each in ", "if ", " is not None:"},
    # keys
    "engines/torch/frames.py": {"calling for the stage"},
    "explanation/minitensor/write_sentences.py": {"its input", "its output"},
    "explanation/whole_run/derivatives.py": {"input "},
    "model/compound_names.py": {" in ", " of ", "parameter "},
    "recorder/stack.py": {"line "},
    # code of Python
    "recorder/instrument.py": {", fromlist=['HOOK']).HOOK"},
    "explanation/rewrite.py": {"return "},
    "explanation/whole_run/aliased_networks.py": {"import copy"},
    "explanation/whole_run/kept_objects.py": {" for _ in range("},
    "explanation/whole_run/overwritten_fixes.py": {"[p for group in ", ".param_groups for p in group['params']]"},
    "explanation/whole_run/refused_writes.py": {"with ", "with torch.no_grad():", "return "},
    "explanation/whole_run/write_fixes.py": {"return "},
    # code of JavaScript, HTML and CSS
    "web/embed.py": {' class="mt-lines"'},
    "web/static_html.py": {' style="min-width: 15em; text-align: left"', ' style="white-space: nowrap"'},
    "web/v8.py": {"const call = (name, args) => "},
    # words of matplotlib
    "figures/inked.py": {r"Glyph \d+ .*missing from"},
    "figures/paper.py": {"offset points", "center left", "axes fraction"},
    # parts of errors that are raised
    "figures/memory_events.py": {" of "},
    "recorder/program_source.py": {" (in the variant "},
}


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def nodes_for_other_readers(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a module whose texts no reader of a stage sees."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):  # a docstring
            yield node
        elif isinstance(node, (ast.Raise, ast.Assert, ast.Subscript)):
            yield node.slice if isinstance(node, ast.Subscript) else node
        elif isinstance(node, ast.Call) and (name := name_of(node.func)) and (name in _CALLS or name.endswith("Error")):
            yield from (*node.args, *node.keywords)
        elif isinstance(node, ast.Compare):  # ``"leaf" in str(error)``
            yield node.left


def literals(source: str) -> list[str]:
    """Return the texts of a module that a reader of a stage may see."""
    tree = ast.parse(source)
    known = {id(part) for node in nodes_for_other_readers(tree) for part in ast.walk(node)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node.value for node in found if id(node) not in known]


def phrases(source: str) -> list[str]:
    """Return the phrases of a module of Python that are not messages."""
    return [text for text in literals(source) if PHRASE.search(text) and "<" not in text and "{" not in text]


def modules() -> list[str]:
    return [
        path.relative_to(ROOT).as_posix() for path in catalogues.sources(catalogues.PACKAGES[0]) if path.suffix == ".py"
    ]


def test_every_phrase_of_the_modules_is_a_message_or_is_not_for_a_reader_of_a_stage():
    found = {file: phrases((ROOT / file).read_text("utf-8")) for file in modules() if file not in _FOR_OTHERS}
    left = {(file, each) for file, those in found.items() for each in those}
    known = {(file, each) for file, those in _NOT_SHOWN.items() for each in those}
    assert left - known == set()
    assert known - left == set(), "each phrase in _NOT_SHOWN should be in the source"
    assert set(modules()) >= _FOR_OTHERS


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('emit(Omission("A sparse tensor has no cells."))', ["A sparse tensor has no cells."]),
        ('emit(Omission(message("A sparse tensor has no cells.")))', []),
        ('CUT = (\n    "`{}` returns an input "\n    "without history"\n)', []),  # another test checks templates
        ('return "a sparse tensor"', ["a sparse tensor"]),
        ('return f"a tensor of dtype {kind}"', ["a tensor of dtype "]),
        ('name = f"{own} in {place}"', [" in "]),
        ('raise ValueError("a number is needed")', []),
        ('"""Return a number."""', []),
        ('if "modified by an inplace operation" in text: ...', []),
    ],
)
def test_a_phrase_of_a_module_is_found_unless_it_is_a_message_or_for_other_readers(source, expected):
    assert phrases(source) == expected


def test_no_template_is_filled_outside_of_a_message():
    """The code may call ``str.format`` on templates of code, such as a repair, but not on sentences."""
    sentence = re.compile(r"[A-Za-z]+ [a-z]+ [a-z]+ [a-z]+")
    for file in modules():
        for text in literals((ROOT / file).read_text("utf-8")):
            is_template = "{" in text and "<" not in text and ";" not in text
            assert not (is_template and sentence.search(text)), (file, text)


def test_the_engines_emit_messages_as_reasons_and_no_literals():
    from memory_stage.engines import events

    for kind in (events.Omission, events.End):
        assert kind.__annotations__["reason"].__forward_arg__ == "Text"
    engines = [file for file in modules() if file.startswith("engines/")]
    emitted = 0
    for file in engines:
        for node in ast.walk(ast.parse((ROOT / file).read_text("utf-8"))):
            if isinstance(node, ast.Call) and name_of(node.func) in ("Omission", "End", "omit", "report_unrecorded"):
                emitted += 1
                (reason,) = node.args
                assert not isinstance(reason, (ast.JoinedStr, ast.Constant)), (file, ast.unparse(node))
    assert emitted > 10


# ---------- scripts ----------

_COMMENT = re.compile(r"/\*.*?\*/|(?<![:'\"])//[^\n]*", re.DOTALL)
#: A regular expression in a script. Quotes and backticks in it are not the start of a string.
_REGEX = re.compile(r"(?<=[(=:?,]) ?/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/[a-z]*(?=[,;.) ])")
_TAG = re.compile(r"<[^<>]*>?|^[^<>]*=\"[^<>]*>|\b[\w-]+=\"[^\"]*\"?")
#: Maps a file to its texts that no reader sees: keys, classes, a text whose width is measured, and an error.
_IN_SCRIPTS = {
    "shared/page.js": ["storage version 0123456789"],
    "shared/shapes.js": ["data-"],
    "stage/motion.js": ["storage", "name", "storage"],
    "stage/plan.js": ["saved", "tensor"],
    "stage/program-view.js": ["refused", "bad"],
    "stage/save-picture.js": ["The browser made no picture."],
    "stage/variant-table.js": ["tbody tr"],
}


def texts_in_script(source: str) -> Iterator[str]:
    """Yield the literals of a script and the texts of its templates, except those of messages."""
    source = _COMMENT.sub("", source)
    source = _REGEX.sub("0", source)
    source = catalogues.CALL.sub("called(", source)
    at, depths = 0, []
    text = ""
    while at < len(source):
        char = source[at]
        if char in "'\"" and source[at - 1] not in "\\" and (not depths or depths[-1] >= 0):
            end = at + 1
            while end < len(source) and source[end] != char and source[end] != "\n":
                end += 2 if source[end] == "\\" else 1
            if source[end : end + 1] == char:
                yield source[at + 1 : end]
                at = end
        elif char == "`":
            if depths and depths[-1] == -1:
                yield text
                depths.pop()
                text = ""
            else:
                depths.append(-1)
                text = ""
        elif depths and depths[-1] == -1:
            if source.startswith("${", at):
                yield text
                text = ""
                depths.append(0)
                at += 1
            elif char == "\\":
                at += 1
            else:
                text += char
        elif depths and char == "{":
            depths[-1] += 1
        elif depths and char == "}":
            if depths[-1] == 0:
                depths.pop()
            else:
                depths[-1] -= 1
        at += 1
    assert not depths, "a template of the script is not closed"


def phrases_in_script(source: str) -> list[str]:
    """Return the phrases of a script that are not messages."""
    shown = [_TAG.sub(" ", text) for text in texts_in_script(source)]
    return [
        text.strip()
        for text in shown
        if PHRASE.search(text) and not re.search(r"[:;{}()=<>#]|(?:^|\s)[.\[][a-z]|px\b", text)
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("const a = `${n} operations`;", ["operations"]),
        ("const a = t('{count} operations', { count: `${n}` });", []),
        ("return 'no tensor here'; // a comment about it", ["no tensor here"]),
        ("const a = `<p class=\"a b\">${t('two words')} and more</p>`;", ["and more"]),
        ('const a = `<p class="say it">${text}</p>`;', []),
        ("const own = `${name} in…`;", ["in…"]),
        ("a(`${b.replace(/`/g, '')}`);\nreturn 'no tensor here';", ["no tensor here"]),
    ],
)
def test_a_phrase_of_a_script_is_found_unless_it_is_a_message(source, expected):
    assert phrases_in_script(source) == expected


def test_every_phrase_of_the_scripts_is_a_message():
    paths = [path for path in sorted(SCRIPTS.rglob("*.js")) if path.name != "words.js"]
    found = {path.relative_to(SCRIPTS).as_posix(): phrases_in_script(path.read_text("utf-8")) for path in paths}
    assert {file: left for file, left in found.items() if left} == _IN_SCRIPTS
    assert len(paths) > 40
