"""Check the rules of chapters, as far as a program can check them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from book_kit.tables import glossary_table
from tests.support.chapters.chapter import FENCE, FOLDER, HEADER, ROOT, WORD, Chapter, appendices, guides, in_order

FEWEST_WORDS, MOST_WORDS = 800, 1800
FIRST_OF_PRACTICE = 12  # the number of the first chapter of part IV
RULES: list[Callable[[Chapter], str | None]] = []


def calls(chapter: Chapter, name: str) -> list[ast.Call]:
    """Return the calls of a function in the cells of a chapter, in order, without cells that only a magic can run."""
    found = []
    for cell in chapter.code:
        source = "\n".join(line for line in cell.source.splitlines() if not line.startswith("%"))
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        found += [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == name]
    return found


def rule(check: Callable[[Chapter], str | None]) -> Callable[[Chapter], str | None]:
    """Register a rule, which reads a chapter and returns the fault or None."""
    RULES.append(check)
    return check


@rule
def title_carries_the_number_of_the_file(chapter):
    number = int(chapter.name[:2])
    if not re.match(rf"\s*# {number}\. \S", chapter.prose):
        return f"the first line has to be '# {number}. ' and the title"


@rule
def opens_with_a_prediction(chapter):
    opening = chapter.text.split("\n## ", 1)[0]
    if not re.search(r"^predict\(", opening, re.MULTILINE):
        return "no predict(...) before the first section"


@rule
def asks_three_questions(chapter):
    if (count := len(chapter.cells_with("predict("))) < 3:
        return f"{count} predictions, at least 3 are needed"


@rule
def shows_a_stage(chapter):
    if not chapter.cells_with("%%stage"):
        return "no cell begins with %%stage"


@rule
def has_an_exercise_that_checks_itself(chapter):
    if not chapter.cells_with("check("):
        return "no cell calls check(...)"


@rule
def hides_a_solution_that_is_run(chapter):
    solutions = chapter.cells_with("require(")
    if not solutions:
        return "no cell calls require(...) on a solution"
    for cell in solutions:
        if "hide-cell" not in cell.metadata.get("tags", []):
            return "a cell with require(...) is not tagged hide-cell"


@rule
def says_what_to_remember_in_three_to_five_lines(chapter):
    lines = re.findall(r"^(?:[-*]|\d+\.) ", chapter.section("What to remember"), re.MULTILINE)
    if not 3 <= len(lines) <= 5:
        return f"'What to remember' has {len(lines)} lines, 3 to 5 are needed"


@rule
def leads_to_the_next_chapter(chapter):
    names = in_order()
    if chapter.name in names[:-1]:
        following = names[names.index(chapter.name) + 1]
        ending = chapter.text.split("## What to remember", 1)[-1]
        if f"]({following}.md" not in ending:
            return f"no link to {following}.md after 'What to remember'"


@rule
def names_its_sources(chapter):
    number = int(chapter.name[:2])
    if f"{{cite}}`{number}-" not in chapter.text:
        return f"no source is cited as {{cite}}`{number}-...`"
    if "```{bibliography}" not in chapter.section("Sources"):
        return "no {bibliography} under 'Sources'"


@rule
def names_the_question_that_it_answers(chapter):
    question = chapter.notebook.metadata.get("question", "")
    if not question.endswith("?"):
        return "no 'question:' in the front matter; the neighbouring pages use it as the text of their link"


@rule
def explains_every_option(chapter):
    """Without an explanation, a reader who chose the option learns nothing."""
    for call in calls(chapter, "predict"):
        options = next((part.value for part in call.keywords if part.arg == "options"), None)
        if not isinstance(options, ast.Dict):
            continue  # `predict` checks computed options when the cell runs
        for option, text in zip(options.keys, options.values, strict=True):
            if isinstance(text, ast.Constant) and len(WORD.findall(str(text.value))) < 4:
                return f"the option {ast.unparse(option)} is not explained"
        if len(options.keys) < 2:
            return "a question with fewer than two options"


@rule
def checks_a_solution_with_the_tests_of_its_exercise(chapter):
    """Each solution is checked with the tests of its exercise."""
    tests = {name: [ast.unparse(call.keywords[-1]) for call in calls(chapter, name)] for name in ("check", "require")}
    if tests["check"] != tests["require"]:
        return f"check(...) uses {tests['check']}, but require(...) uses {tests['require']}"


@rule
def describes_its_pictures(chapter):
    """A reader who does not see a picture needs its description."""
    if re.search(r"!\[\s*\]\(", chapter.prose):
        return "a picture ![](...) without a text"
    for directive in re.findall(r"^(?:`{3,}|:{3,})\{(?:figure|image)\}.*?^(?:`{3,}|:{3,})", chapter.prose, re.M | re.S):
        if not re.search(r"^:alt: \S", directive, re.MULTILINE):
            return "a {figure} or {image} without :alt:"


@rule
def titles_its_stages(chapter):
    """Questions refer to a stage by its title, and screen readers announce the title."""
    for cell in chapter.cells_with("%%stage"):
        first = cell.source[cell.source.index("%%stage") :].splitlines()[0]
        if "--title" not in first:
            return f"a stage without a title: {first}"
    for call in [*calls(chapter, "stage.compare"), *calls(chapter, "stage.record")]:
        if not any(part.arg == "title" for part in call.keywords):
            return "a stage without a title"


@rule
def ends_with_a_project_and_its_check_in_the_part_on_practice(chapter):
    """A chapter of part IV ends with a project: an exercise, or a section with a cell that judges the project."""
    if int(chapter.name[:2]) < FIRST_OF_PRACTICE or re.search(r"^\*\*\d\. Project: ", chapter.prose, re.MULTILINE):
        return None
    project = chapter.text.partition("\n## A project\n")[2].partition("\n## ")[0]
    if "```{code-cell}" not in project or "judge" not in project:
        return "no exercise that is a project, and no '## A project' with a cell that judges"


@rule
def is_short(chapter):
    if not FEWEST_WORDS <= chapter.words <= MOST_WORDS:
        return f"{chapter.words} words of prose; a chapter must have {FEWEST_WORDS} to {MOST_WORDS}"


@rule
def shows_the_memory_of_a_gpu(chapter):
    """A program runs on a GPU, which may be simulated, and its cell or a later one shows the memory of the device.

    If the reader can choose the device, a GPU has to be the first choice, because the page shows the first choice.
    """
    code = [cell.source for cell in chapter.code]
    on_a_gpu = r"set_device\(\s*[\"']gpu|[\"']device[\"']: \[[\"']gpu"
    first = next((i for i, source in enumerate(code) if re.search(on_a_gpu, source)), None)
    if first is None:
        return 'nothing runs on set_device("gpu")'
    shown = r"^%%stage|\bstage\.compare\(|\b(timeline|allocator_map|what_fits|meter|controls)\.show\("
    if not any(re.search(shown, source, re.MULTILINE) for source in code[first:]):
        return "no stage, timeline, allocator map, what-fits figure or meter shows the memory of the GPU"


@rule
def explains_a_term_before_it_is_used(chapter):
    """At its first use, a term of a later chapter is in italics with a short explanation, or links to that chapter.

    Words with an everyday meaning are excepted, and so are "known" terms, which are familiar to a reader who has
    trained a network once.
    """
    names = in_order()
    if chapter.name in names:
        earlier = list(map(read_once, names[: names.index(chapter.name)]))
        for term in terms_to_come(names[names.index(chapter.name) + 1 :]):
            if any(is_introduced(paragraph, term) for page in earlier for paragraph in paragraphs_with(page, term)):
                continue
            first = next(paragraphs_with(chapter, term), None)
            if first is not None and not is_introduced(first, term):
                return f"{term['name']!r} is neither in italics nor linked to {term['page']}: {first[:80]}"


@cache
def read_once(name: str) -> Chapter:
    return Chapter.read(name)


def terms_to_come(names: list[str]) -> list[dict[str, Any]]:
    """Return the terms of the glossary that these chapters explain, except everyday and known terms."""
    return [
        term
        for term in json.loads((ROOT / "book" / "glossary.json").read_text(encoding="utf-8"))
        if Path(term["page"]).name in names and term["forms"] and not (term.get("everyday") or term.get("known"))
    ]


def paragraphs_with(chapter: Chapter, term: dict[str, Any]) -> Iterator[str]:
    """Yield the paragraphs that contain the term outside of code and addresses, without headings and tables."""
    for paragraph in re.split(r"\n\s*\n", FENCE.sub("", chapter.prose)):
        words = re.sub(r"`[^`]*`|\]\([^)]*\)|\{[^}]*\}", "", paragraph)
        if not paragraph.startswith(("#", "|")) and re.search(rf"(?<![\w-]){forms_of(term)}(?![\w-])", words, re.I):
            yield paragraph


def is_introduced(paragraph: str, term: dict[str, Any]) -> bool:
    """True if a paragraph has the term in italics, and so explains it, or links to the term's chapter."""
    return f"]({Path(term['page']).name}.md" in paragraph or bool(re.search(rf"\*{forms_of(term)}\*", paragraph, re.I))


def forms_of(term: dict[str, Any]) -> str:
    return f"(?:{'|'.join(map(re.escape, term['forms']))})"


@rule
def expects_errors_by_name(chapter):
    """Refuse the tag raises-exception, because it also accepts a cell that raises no error or another error."""
    for cell in chapter.code:
        if "raises-exception" in cell.metadata.get("tags", []):
            return "the tag raises-exception; use %%expect_error"


# ---- rules of an appendix --------------------------------------------------------------------------------------------


def title_carries_the_letter_of_the_file(appendix):
    if not re.match(rf"\s*# {appendix.name[0]}\. \S", appendix.prose):
        return f"the first line has to be '# {appendix.name[0]}. ' and the title"


def links_to_a_chapter(appendix):
    if not re.search(r"\]\(\d\d_\w+\.md[#)]", appendix.prose):
        return "no link to the chapter that explains its words"


def names_its_facts(appendix):
    named = re.findall(r"`(facts/[\w./-]+)`", appendix.section("Where the facts come from"))
    if not named:
        return "no file of facts under 'Where the facts come from'"
    if missing := [file for file in named if not (FOLDER.parent / file).exists()]:
        return f"there is no {missing[0]}"


def numbers_come_from_cells(appendix):
    """Refuse a table in the text, which becomes outdated: a cell has to compute it."""
    if re.search(r"^\|", appendix.prose, re.MULTILINE):
        return "a table in the text; let a cell make it"


APPENDIX_RULES: list[Callable[[Chapter], str | None]] = [
    title_carries_the_letter_of_the_file,
    links_to_a_chapter,
    names_its_facts,
    numbers_come_from_cells,
    expects_errors_by_name,
]


# ---- rules of a guide ------------------------------------------------------------------------------------------------


def title_carries_no_number(guide):
    if not re.match(r"\s*# [A-Z][^.]*$", guide.prose, re.MULTILINE):
        return "the first line has to be '# ' and a title without a number"


def shows_a_stage_of_any_kind(guide):
    if not any(map(guide.cells_with, ("%%stage", "stage.", "own_program.show("))):
        return "no cell shows a stage"


GUIDE_RULES: list[Callable[[Chapter], str | None]] = [
    title_carries_no_number,
    shows_a_stage_of_any_kind,
    links_to_a_chapter,
    expects_errors_by_name,
]


def faults(chapter: Chapter, rules: list[Callable[[Chapter], str | None]] = RULES) -> Iterator[str]:
    return (f"{check.__name__}: {fault}" for check in rules if (fault := check(chapter)))


@pytest.mark.parametrize("name", in_order())
def test_a_chapter_keeps_the_rules(name):
    assert list(faults(Chapter.read(name))) == []


@pytest.mark.parametrize("name", appendices())
def test_an_appendix_keeps_its_rules(name):
    assert list(faults(Chapter.read(name), APPENDIX_RULES)) == []


@pytest.mark.parametrize("name", guides())
def test_a_guide_keeps_its_rules(name):
    assert list(faults(Chapter.read(name), GUIDE_RULES)) == []


def test_the_contents_and_the_folder_name_the_same_chapters():
    assert sorted([*in_order(), *appendices(), *guides()]) == sorted(path.stem for path in FOLDER.glob("*.md"))


GOOD = (
    HEADER.replace("name: python3\n---", 'name: python3\nquestion: "Why?"\n---')
    + """
# 77. A title

{prose} {{cite}}`77-source`.

```{{code-cell}} ipython3
predict("one", options={{"yes": "It is the right one.", "no": "It is not the right one."}})
```

## A section

![A tensor and its storage](picture.svg)

```{{code-cell}} ipython3
%%stage --title "One"
x = 1
```

```{{code-cell}} ipython3
predict("two")
mt.set_device("gpu")
```

```{{code-cell}} ipython3
timeline.show(recording)
```

```{{code-cell}} ipython3
predict("three")
```

**1. Project: a reader.** Write one.

```{{code-cell}} ipython3
check(reader, **reader_tests)
```

```{{code-cell}} ipython3
:tags: [hide-cell]

require(solution, **reader_tests)
```

## What to remember

- one
- two
- three

## Sources

```{{bibliography}}
:keyprefix: 77-
```
"""
)
# A text in the good chapter, its replacement, and the rule that the changed chapter breaks.
BREAKS = [
    ("# 77. A", "# 7. A", title_carries_the_number_of_the_file),
    ('predict("one", options', "guess(options", opens_with_a_prediction),
    ('question: "Why?"\n', "", names_the_question_that_it_answers),
    ('"It is not the right one."', '"No."', explains_every_option),
    (', "no": "It is not the right one."', "", explains_every_option),
    (
        "require(solution, **reader_tests)",
        "require(solution, **other_tests)",
        checks_a_solution_with_the_tests_of_its_exercise,
    ),
    ("![A tensor and its storage]", "![]", describes_its_pictures),
    (' --title "One"', "", titles_its_stages),
    ('predict("two")', "x", asks_three_questions),
    ("%%stage", "", shows_a_stage),
    ("check(reader, **reader_tests)", "reader", has_an_exercise_that_checks_itself),
    (":tags: [hide-cell]\n", "", hides_a_solution_that_is_run),
    ("require(solution, **reader_tests)", "solution", hides_a_solution_that_is_run),
    ("- three\n", "", says_what_to_remember_in_three_to_five_lines),
    ("{cite}`77-source`", "a book", names_its_sources),
    ("```{bibliography}", "```{note}", names_its_sources),
    ("word " * 900, "word " * 700, is_short),
    ("word " * 900, "word " * 1900, is_short),
    ("[hide-cell]", "[hide-cell, raises-exception]", expects_errors_by_name),
    ('set_device("gpu")', 'set_device("cpu")', shows_the_memory_of_a_gpu),
    ("timeline.show(recording)", "recording", shows_the_memory_of_a_gpu),
    ("Project: a", "A", ends_with_a_project_and_its_check_in_the_part_on_practice),
    (
        "**1. Project: a reader.** Write one.",
        "## A project\n\nWrite one.",
        ends_with_a_project_and_its_check_in_the_part_on_practice,
    ),
]


def test_a_good_chapter_has_no_faults():
    assert list(faults(Chapter("77_good", GOOD.format(prose="word " * 900)))) == []


@pytest.mark.parametrize("old, new, broken", BREAKS)
def test_each_broken_rule_is_reported(old, new, broken):
    text = GOOD.format(prose="word " * 900)
    assert old in text
    reported = [fault.split(":")[0] for fault in faults(Chapter("77_bad", text.replace(old, new)))]
    assert broken.__name__ in reported


def test_a_term_of_a_later_chapter_is_explained_at_its_first_use():
    first = in_order()[0]
    for said in ("The fragmentation grows.", "Much *room*: fragmentation."):
        assert "fragmentation" in (explains_a_term_before_it_is_used(Chapter(first, said)) or "")
    for said in (
        "Holes that nobody can use, *fragmentation*, grow.",
        "The fragmentation grows ([chapter 6](06_the_allocator.md)).",
        "The `fragmentation` grows.",
        "The gradient grows.",
    ):
        assert explains_a_term_before_it_is_used(Chapter(first, said)) is None


def test_every_group_of_the_glossary_has_its_section():
    shown = re.findall(r'^Markdown\(glossary_table.table\(ROOT, "(.+)"\)\)$', Chapter.read("E_glossary").text, re.M)
    assert shown == glossary_table.groups(ROOT)
    assert [
        title for title in re.findall(r"^## (.+)$", Chapter.read("E_glossary").text, re.M) if title in shown
    ] == shown


def test_a_chapter_has_to_link_to_the_next():
    first, second = in_order()[:2]
    text = f"## What to remember\n\n[next]({second}.md)"
    assert leads_to_the_next_chapter(Chapter(first, text)) is None
    assert leads_to_the_next_chapter(Chapter(first, f"[next]({second}.md)\n\n## What to remember"))


GOOD_APPENDIX = (
    HEADER
    + """
# Z. A title

See [chapter 77](77_good.md).

```{code-cell} ipython3
table
```

## Where the facts come from

`facts/goldens`
"""
)
APPENDIX_BREAKS = [
    ("# Z. A", "# Y. A", title_carries_the_letter_of_the_file),
    ("[chapter 77](77_good.md)", "chapter 77", links_to_a_chapter),
    ("`facts/goldens`", "memory", names_its_facts),
    ("`facts/goldens`", "`facts/of-nobody.json`", names_its_facts),
    ("See", "| a | b |\n\nSee", numbers_come_from_cells),
    ("ipython3\n", "ipython3\n:tags: [raises-exception]\n\n", expects_errors_by_name),
]


def test_a_good_appendix_has_no_faults():
    assert list(faults(Chapter("Z_good", GOOD_APPENDIX), APPENDIX_RULES)) == []


@pytest.mark.parametrize("old, new, broken", APPENDIX_BREAKS)
def test_each_broken_rule_of_an_appendix_is_reported(old, new, broken):
    assert old in GOOD_APPENDIX
    chapter = Chapter("Z_bad", GOOD_APPENDIX.replace(old, new))
    assert [fault.split(":")[0] for fault in faults(chapter, APPENDIX_RULES)] == [broken.__name__]


GOOD_GUIDE = (
    HEADER
    + """
# A title

See [chapter 77](77_good.md).

```{code-cell} ipython3
stage.record("x = 1")
```
"""
)
GUIDE_BREAKS = [
    ("# A title", "# 3. A title", title_carries_no_number),
    ("stage.record", "record", shows_a_stage_of_any_kind),
    ("[chapter 77](77_good.md)", "chapter 77", links_to_a_chapter),
    ("ipython3\n", "ipython3\n:tags: [raises-exception]\n\n", expects_errors_by_name),
]


def test_a_good_guide_has_no_faults():
    assert list(faults(Chapter("good", GOOD_GUIDE), GUIDE_RULES)) == []


@pytest.mark.parametrize("old, new, broken", GUIDE_BREAKS)
def test_each_broken_rule_of_a_guide_is_reported(old, new, broken):
    assert old in GOOD_GUIDE
    chapter = Chapter("bad", GOOD_GUIDE.replace(old, new))
    assert [fault.split(":")[0] for fault in faults(chapter, GUIDE_RULES)] == [broken.__name__]
