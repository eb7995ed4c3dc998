"""Test the question bank: the questions that it reads from all built chapters, in each language."""

from __future__ import annotations

import base64
import json
import re
import zipfile
from xml.etree import ElementTree

import pytest

from _ext.book_pages.built_page import BuiltPage
from _ext.book_pages.languages import editions
from tests.support.chapters.chapter import in_order
from tests.support.class_plan import CAPTIONS
from tests.support.question_formats import moodle_faults, qti_faults
from tests.support.question_readers import differences, needs_readers
from tests.support.standing_alone import references
from tools.build import ROOT
from tools.class_notebooks import read_sheets
from tools.question_bank import PACKAGE, PICTURES, QTI, read_exercises, read_predictions, write_bank


@pytest.fixture(scope="module")
def chapters(book):
    """Return all pages that `tools/class_material.py` reads: the chapters and the other pages with questions."""
    files = sorted((book / "chapters").glob("*.html"))
    assert {file.stem for file in files} >= set(in_order())
    return [BuiltPage(f"chapters/{file.stem}", file.read_text(encoding="utf-8")) for file in files]


@pytest.fixture(scope="module")
def predictions(chapters):
    return read_predictions(chapters, CAPTIONS)


@pytest.fixture(scope="module", params=["en", *(edition.code for edition in editions(ROOT))])
def whole_bank(request, book, chapters, predictions):
    """Return all questions of the bank in one language: the predictions, then the exercises."""
    if request.param == "en":
        return [*predictions, *read_exercises(read_sheets(), CAPTIONS)]
    (edition,) = (each for each in editions(ROOT) if each.code == request.param)
    captions = edition.data("class")["bank"]
    files = [book / edition.code / f"{page.name}.html" for page in chapters]
    pages = [BuiltPage(f"chapters/{file.stem}", file.read_text(encoding="utf-8")) for file in files if file.exists()]
    return [*read_predictions(pages, captions), *read_exercises(read_sheets(edition), captions, edition.code)]


@pytest.fixture(scope="module")
def proved(chapters, predictions):
    """Return each question whose answer a stage proves, with the stage's program and the line that proves it."""
    found = []
    asked = [(page, question) for page in chapters for question in page.questions]
    for each, (page, question) in zip(predictions, asked, strict=True):
        proof = question.select_one(".mt-proof")
        if proof is None:
            continue
        if title := proof.get("data-stage"):
            traces = [json.loads(stage.script.string) for stage in page.body.select("memory-stage") if stage.script]
            trace = next(trace for trace in traces if trace["title"] == title)
        else:
            trace = json.loads(question.find_next("memory-stage").script.string)
        label = proof.get("data-variant")
        program = next(each for each in trace["variants"] if label is None or each["label"] == label)
        found.append((each, program, int(proof["data-line"])))
    return found


def drawn_texts(question):
    """Return the texts of a question's picture, in their order."""
    svg = ElementTree.fromstring(question.picture.svg)
    return ["".join(each.itertext()) for each in svg.iter("{http://www.w3.org/2000/svg}text")]


def words(blocks):
    return " ".join(block.plain for block in blocks)


def test_the_bank_has_every_prediction_of_every_chapter(chapters, predictions):
    asked = [(page.title, question.select_one(".mt-question")) for page in chapters for question in page.questions]
    assert [each.chapter for each in predictions] == [title for title, _ in asked]
    for each, (_, question) in zip(predictions, asked, strict=True):
        assert re.sub(r"\s", "", words(each.text)) == re.sub(r"\s", "", question.get_text())
    assert len(predictions) > 3 * 10


def test_every_prediction_has_at_least_two_different_options_of_which_one_is_right(predictions):
    for each in predictions:
        options = [words(option.text) for option in each.options]
        assert len(set(options)) == len(options) >= 2, each.name
        assert all(options), each.name
        assert sum(option.right for option in each.options) == 1, each.name


def test_no_question_refers_to_the_page_around_it(predictions):
    found = [f"{each.chapter}: {reference}" for each in predictions for reference in references(each)]
    assert not found, "\n".join(found)


def test_every_option_has_feedback_that_no_other_option_has(predictions):
    for each in predictions:
        feedback = [words(option.feedback) for option in each.options]
        assert all(len(text.split()) >= 2 for text in feedback), each.name
        assert len(set(feedback)) == len(feedback), each.name


def test_the_right_option_is_the_answer_that_the_page_shows(chapters, predictions):
    shown = [question.select_one(".mt-answer").get_text() for page in chapters for question in page.questions]
    right = [words(option.text) for each in predictions for option in each.options if option.right]
    assert [re.sub(r"\s", "", text) for text in right] == [re.sub(r"\s", "", text) for text in shown]


def test_every_stage_that_a_question_names_is_on_the_page_of_the_question(chapters):
    named = 0
    for page in chapters:
        traces = [json.loads(each.script.string) for each in page.body.select("memory-stage") if each.script]
        pictures = {trace["title"]: {each["label"] for each in trace["variants"]} for trace in traces}
        for proof in page.body.select("predict-first .mt-proof[data-stage]"):
            named += 1
            assert proof["data-stage"] in pictures, page.name
            if label := proof.get("data-variant"):
                assert label in pictures[proof["data-stage"]], page.name
    assert named > 10


def test_every_question_has_a_picture_with_a_caption_and_a_sentence(whole_bank):
    assert len(whole_bank) > 90
    for each in whole_bank:
        assert each.picture, f"{each.chapter}: {each.name} names neither a line of a stage nor a picture"
        svg = ElementTree.fromstring(each.picture.svg)
        assert svg.tag == "{http://www.w3.org/2000/svg}svg", each.name
        # the label of a picture is the sentence of its step
        assert svg.get("aria-label") == each.picture.alt.strip() != "", each.name
        assert drawn_texts(each), each.name
        assert each.picture.line.strip() and "{line}" in each.picture.caption, each.name


def test_only_a_question_that_no_stage_proves_has_a_separate_program_for_its_picture(predictions, proved):
    of_stage = {each.key for each, _, _ in proved}
    assert len(of_stage) > 30
    examples = {each.key for each in predictions if each.picture.caption == CAPTIONS["example"]}
    assert examples == {each.key for each in predictions} - of_stage


def test_the_program_of_a_picture_has_no_line_that_its_question_asks_about(whole_bank):
    for each in whole_bank:
        lines = set(each.picture.line.split("; "))
        asked = [block.plain.splitlines() for block in each.text if block.element.tag == "pre"]
        if each.options:
            assert not lines & {line for block in asked for line in block[-1:]}, each.name
        else:
            starter, solution = (set(map(str.strip, text.splitlines())) for text in (each.starter, each.solution))
            assert not lines & (solution - starter), each.key


def test_the_picture_of_an_example_does_not_show_the_numbers_of_the_answer(whole_bank):
    seen = 0
    for each in whole_bank:
        right = "".join(words(option.text) for option in each.options if option.right)
        if each.picture.line.count(";") or each.picture.line not in words(each.text):
            numbers = re.findall(r"-?\d+(?:\.\d+)?", right) if right.startswith("[") else []
            texts = [float(text) if re.fullmatch(r"-?\d+(?:\.\d+)?", text) else text for text in drawn_texts(each)]
            wanted = list(map(float, numbers))
            seen += bool(wanted)
            runs = (texts[at : at + len(wanted)] for at in range(len(texts)))
            assert not wanted or wanted not in runs, each.name
    assert seen >= 4


def test_no_picture_shows_the_step_that_proves_the_answer(proved):
    for each, program, line in proved:
        first, *later = program["steps"]
        assert each.picture.alt == first["say"].replace("`", ""), each.name
        assert first["line"] != line, each.name
        assert line in [step["line"] for step in later], each.name


def test_every_exercise_has_a_text_and_a_solution_that_differs_from_its_starting_code():
    for each in read_exercises(read_sheets(), CAPTIONS):
        assert words(each.text) and each.starter.strip() and each.solution.strip(), each.key
        assert each.starter != each.solution and not each.options, each.key


def test_the_whole_bank_keeps_the_rules_of_both_formats(whole_bank, tmp_path):
    write_bank(tmp_path, whole_bank)
    assert list(moodle_faults(ElementTree.parse(tmp_path / "moodle.xml").getroot())) == []
    with zipfile.ZipFile(tmp_path / "qti.zip") as package:
        items = [name for name in package.namelist() if name.startswith("items/")]
        assert len(items) == len(whole_bank)
        faults = {name: list(qti_faults(ElementTree.fromstring(package.read(name)), QTI)) for name in items}
        manifest = ElementTree.fromstring(package.read("imsmanifest.xml"))
        listed = [file.get("href") for file in manifest.iter(f"{{{PACKAGE}}}file")]
        assert sorted([*listed, "imsmanifest.xml"]) == sorted(package.namelist())
        pictures = {name: package.read(name) for name in listed if name.startswith(f"{PICTURES}/")}
    assert not {name: found for name, found in faults.items() if found}
    expected = {f"{each.key}.svg": each.picture.svg.encode() for each in whole_bank}
    assert pictures == {f"{PICTURES}/{name}": svg for name, svg in expected.items()}
    assert {file.name: file.read_bytes() for file in (tmp_path / PICTURES).iterdir()} == expected
    files = ElementTree.parse(tmp_path / "moodle.xml").getroot().iter("file")
    assert {file.get("name"): base64.b64decode(file.text) for file in files} == expected


@needs_readers
def test_three_third_party_programs_read_the_whole_bank(whole_bank, tmp_path):
    write_bank(tmp_path, whole_bank)
    assert list(differences(tmp_path, tmp_path, whole_bank)) == []
