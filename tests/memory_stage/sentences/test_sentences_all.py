"""Test that each text of the sentences occurs for a program of which it is true, and not for a similar program."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import minitensor as mt
from tests.support.stage import claims_rarer, templates, truth

LEAF = "w = mt.to_tensor([1., 2., 3., 4.], stop_gradient=False)\na = w * 1\n"
TORCH = "import minitensor.torch as torch\n"
#: Code above this mark runs in an earlier cell.
STAGE = "# the stage\n"

#: This mark ends a program whose last value the notebook shows and keeps as ``_``.
SHOWN = "# shown"

#: At least this many texts must be judged false for the similar program. Some texts, such as those about gradients that
#: only backward uses, cannot be judged.
FEWEST_FALSE = 110

#: Texts that occur only for programs of real PyTorch or Paddle, and therefore only in the tests with these frameworks.
OF_FRAMEWORKS = {
    "backward: The `backward` of {} is done: it sends nothing on.",
    "backward: {} receives {} itself, writes {} into it and returns nothing, so `backward` continues with these "
    "numbers.",
    "backward: {} receives {} and sends nothing on, because its result does not depend on an earlier value.",
    "refusals: An earlier backward freed tensors that this one needs, so it raises.",
    "refusals: {}, one of several views that one call returned",
    "results: {} makes a tensor that reads the bytes of storage {} as {}, {} cells for each number: no "
    "number is copied.",
    "results: {} makes a tensor that reads the bytes of storage {} as {}, {} numbers for each cell: no "
    "number is copied.",
    "results: {} makes a tensor that reads the bytes of storage {} as {}: no number is copied.",
    "savers: `backward` through {} will silently use the new numbers.",
    "savers: {} saved the earlier numbers without a version to compare: `backward` will silently use the new ones.",
}


@dataclass
class Pair:
    """A program that produces some texts, and a program that differs in one line, so that the texts would be false of
    it.

    Attributes:
        texts: the texts, in the form of ``templates.texts``.
    """

    texts: list[str]
    true: str
    near: str


def pairs() -> list[Pair]:
    """Read the pairs in ``near.diff``: for each, its texts, then the diff of its two programs, then a blank line."""
    found = []
    for block in Path(__file__).with_name("near.diff").read_text(encoding="utf-8").strip("\n").split("\n\n"):
        lines = block.splitlines()
        texts = [line[2:] for line in lines if line.startswith("@ ")]
        true, near = ("\n".join(line[1:] for line in lines[len(texts) :] if line[0] in f" {sign}") for sign in "-+")
        found.append(Pair(texts, true, near))
    return found


def sentences_after(program: str) -> list[truth.Said]:
    """Return the sentences on a program, or on its part after ``STAGE``, with memory before and after each step."""
    namespace = {"__name__": "__main__", "mt": mt}
    mt.device.cuda.empty_cache()  # earlier tests may have left reserved memory, which sentences mention
    earlier, _, program = program.rpartition(STAGE)
    exec(compile(earlier, "<earlier>", "exec"), namespace)
    hook, sys.displayhook = sys.displayhook, lambda value: namespace.__setitem__("_", value)
    try:
        shown = program.endswith(SHOWN)
        return truth.observed_sentences(program.removesuffix(SHOWN).strip("\n"), namespace, show_last=shown)
    finally:
        sys.displayhook = hook
        mt.set_device("cpu")


def sentences_on(program: str) -> list[str]:
    return [each.text for each in sentences_after(program)]


@dataclass
class Sentences:
    """The sentences on both programs of a pair.

    Each sentence contains invisible marks, one for each of its templates.
    """

    pair: Pair
    true: list[truth.Said]
    near: list[truth.Said]


@pytest.fixture(autouse=True, scope="module")
def _existing_objects_ignored() -> Iterator[None]:
    with truth.existing_objects_ignored():
        yield


@pytest.fixture(scope="module")
def all_sentences() -> list[Sentences]:
    with templates.marked(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [Sentences(pair, sentences_after(pair.true), sentences_after(pair.near)) for pair in pairs()]


def has(text: str, reported: list[truth.Said]) -> bool:
    return any(text in templates.texts_in(said.text) for said in reported)


def test_each_text_occurs_for_the_first_program_of_a_pair_and_not_for_the_second(all_sentences):
    """Each new text needs a pair in ``near.diff``."""
    texts = [text for each in all_sentences for text in each.pair.texts]
    assert sorted([*texts, *OF_FRAMEWORKS]) == sorted(templates.texts())
    assert len(texts) > 150
    unsaid = [text for each in all_sentences for text in each.pair.texts if not has(text, each.true)]
    still_said = [text for each in all_sentences for text in each.pair.texts if has(text, each.near)]
    assert (unsaid, still_said) == ([], [])


def test_the_two_programs_of_a_pair_differ_in_one_line():
    for pair in pairs():
        true, near = pair.true.splitlines(), pair.near.splitlines()
        differ = [one != other for one, other in zip(true, near, strict=True)]
        assert sum(differ) == 1, pair


def test_the_sentences_on_the_programs_of_all_pairs_are_true(all_sentences):
    steps = [said for each in all_sentences for said in (*each.true, *each.near)]
    wrong = []
    for said in steps:
        plain = replace(said, text=templates.plain(said.text))
        wrong += [f"{found} | {plain.text}" for found in truth.judged(plain)]
    assert wrong == [] and len(steps) > 1000


def test_most_of_the_texts_would_be_false_of_the_similar_program(all_sentences):
    """Judge each sentence as if it described the line with the same number in the similar program."""
    false = [text for each in all_sentences for text in each.pair.texts if is_false_for_similar(text, each)]
    assert len(false) >= FEWEST_FALSE


def test_every_rule_is_false_of_some_other_step(all_sentences):
    """Judge each sentence as if it described other steps.

    Only ``_not_shown``, which judges no memory, may hold for all.
    """
    steps = [replace(s, text=templates.plain(s.text)) for each in all_sentences for s in (*each.true, *each.near)]
    used, failing = set(), set()
    for said in steps:
        for clause in truth.clauses(said.text):
            judge, match = next((judge, match) for form, judge in truth.RULES if (match := form.fullmatch(clause)))
            used.add(judge.__name__)
            if judge.__name__ not in failing:
                others = (replace(other, text=said.text, line=said.line) for other in steps[::5])
                failing |= {judge.__name__} if not all(truth.holds(judge, other, match) for other in others) else set()
    assert used - failing == {"_not_shown"} and len(used) > 100


def is_false_for_similar(text: str, reported: Sentences) -> bool:
    tried = 0
    for said in reported.true:
        for clause in truth.clauses(said.text):
            if text not in templates.texts_in(clause):
                continue
            for there in reported.near:
                if there.line == said.line:
                    tried += 1
                    if not list(truth.judged(replace(there, text=f"{templates.plain(clause)}."))):
                        return False
    return tried > 0


def test_every_sentence_begins_with_a_capital_a_number_or_code(all_sentences):
    for each in all_sentences:
        for said in (*each.true, *each.near):
            for sentence in re.split(r"(?<=\.) ", templates.plain(said.text)):
                assert re.match("[A-Z`0-9]", sentence), said.text


def test_texts_found_in_the_source_occur_in_sentences(all_sentences):
    said = {templates.plain(said.text) for each in all_sentences for said in each.true}
    assert any(re.search("removes a name and its tensor. ", each) for each in said)
    assert "naming: {} removes a name and its {}. Storage {} stays, because {}." in templates.texts()


def test_a_marked_sentence_without_its_marks_equals_the_plain_sentence():
    programs = [pair.true for pair in pairs()[::15]]
    plain = [sentences_on(program) for program in programs]
    with templates.marked():
        marked = [[templates.plain(sentence) for sentence in sentences_on(program)] for program in programs]
    assert marked == plain == [sentences_on(program) for program in programs]


def test_an_operation_of_an_earlier_cell_has_the_word_earlier_instead_of_its_line():
    reported = sentences_on(LEAF + "y = a * a\n" + STAGE + "y.backward()")
    assert (
        reported[1]
        == "`multiply` (earlier) receives [1, 1, 1, 1] and sends [1, 2, 3, 4] and [1, 2, 3, 4] to earlier values."
    )


def test_a_view_of_an_earlier_cell_is_not_described_as_a_call_of_a_layer():
    reported = sentences_on(LEAF + "v = a[0:2]\n" + STAGE + "v.add_(1)\na.sum().backward()")
    assert not any("its call" in sentence for sentence in reported)
    assert (
        "`getitem` (earlier) receives [1, 1] and sends [1, 1, 0, 0] to `v@0`, which now has [1, 1, 1, 1]." in reported
    )


@pytest.mark.parametrize(
    ("last", "asked"),
    [
        ("x.astype('int32').divide_(x)", "the dtype of its target cannot hold"),
        ("x.add_(w.add_(1))", "it would write a leaf while"),
        ("w.add_(1)", "it would write the leaf `w` while"),
    ],
)
def test_a_refusal_names_only_the_requested_operation(last, asked):
    assert asked in sentences_on(LEAF + "x = mt.ones([4])\n" + last)[-1]


def test_an_assignment_to_a_new_copy_begins_with_the_copy():
    sentence = sentences_on(TORCH + "x = torch.ones(2)\nx.clone().numpy()[0] = 5")[-1]
    assert sentence.startswith("`clone` copies 2 numbers")


def test_the_rules_that_judge_sentences_are_all_in_one_table_of_more_than_100():
    assert claims_rarer.rule is truth.rule and len(truth.RULES) > 100
