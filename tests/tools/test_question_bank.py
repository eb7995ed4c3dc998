"""Test the question bank: its Moodle XML, its QTI package and its CSV have the same questions and feedback."""

from __future__ import annotations

import csv
import json
import re
import xml.etree.ElementTree as ET
import zipfile

import pytest

from _ext.book_pages.built_page import BuiltPage
from book_kit import predict
from tests.support.class_plan import CAPTIONS
from tests.support.question_formats import moodle_faults, qti_faults
from tests.support.standing_alone import references
from tools.class_notebooks import CHAPTERS, read_sheet, read_sheets
from tools.question_bank import OF_EXERCISES, PACKAGE, QTI, read_exercises, read_predictions, write_bank

ASKED = predict(
    "`x = mt.ones([3])\ny = x`\nWhat does `y is x` give, if 1 < 2 & all is well?",
    {"`True`": "`y = x` makes a name.", "`False`": "That would need a <copy>.", "an error": "Nothing raises."},
    "True",
)


def page(*predictions):
    html = "".join(each._repr_mimebundle_()["text/html"] for each in predictions)
    return BuiltPage("chapters/01_a", f"<article><h1>1. A/B</h1>{html}</article>")


@pytest.fixture(scope="module")
def questions():
    sheets = [read_sheet(CHAPTERS / "03_views.md")]
    return [*read_predictions([page(ASKED)], CAPTIONS), *read_exercises(sheets, CAPTIONS)]


@pytest.fixture(scope="module")
def items(bank):
    """Return the files of the QTI package, keyed by name."""
    with zipfile.ZipFile(bank / "qti.zip") as package:
        return {name: ET.fromstring(package.read(name)) for name in package.namelist() if name.endswith(".xml")}


def text(html):
    return "".join(ET.fromstring(f"<div>{html}</div>").itertext()).strip()


def words(element):
    return "".join(element.itertext()).strip()


def plain(backticks):
    return backticks.replace("`", "")


@pytest.mark.parametrize(
    "old, new, reference",
    [
        ("What does", "In the program above, what does", "'above' in 'In the program above"),
        ("What does", "In line 3 is a comment. What does", "'line 3' of a program with 2 lines"),
        ("`x = mt.ones([3])\ny = x`\nWhat", "Now a name follows. What", "'Now' begins 'Now a name follows."),
        ("makes a name.", "makes a name, as the figure below shows.", "'below' in '"),
        ("an error", "an error, as before", "'as before' in '"),
        ("Nothing raises.", "That was the engine of step 2.", "'step 2' in '"),
    ],
)
def test_a_reference_to_the_page_around_a_question_is_reported(old, new, reference):
    options = {name.replace(old, new): why.replace(old, new) for name, why in ASKED.options.items()}
    asked = predict(ASKED.question.replace(old, new), options, "True")
    (found,) = read_predictions([page(asked)], CAPTIONS)
    assert [reference in each for each in references(found)] == [True]
    (alone,) = read_predictions([page(ASKED)], CAPTIONS)
    assert list(references(alone)) == []


def test_a_prediction_keeps_its_code_its_options_and_the_feedback_of_each(questions):
    asked = questions[0]
    assert [block.element.tag for block in asked.text] == ["pre", "p"]
    assert "".join(block.plain for block in asked.text) == plain(ASKED.question).replace("x\nWhat", "xWhat")
    given = {each.text[0].plain: each.feedback[0].plain for each in asked.options}
    assert given == {plain(option): plain(why) for option, why in ASKED.options.items()}
    assert [each.right for each in asked.options] == [True, False, False]


def test_moodle_gets_a_category_a_choice_and_questions_with_a_free_answer(bank):
    quiz = ET.parse(bank / "moodle.xml").getroot()
    assert quiz.tag == "quiz"
    kinds = [question.get("type") for question in quiz]
    assert kinds == ["category", "multichoice", "category", "essay", "essay"]
    assert quiz[0].findtext("category/text") == "$course$/top/In Place/1. A//B"  # a slash starts a subcategory
    choice = quiz[1]
    answers = choice.findall("answer")
    assert [answer.get("fraction") for answer in answers] == ["100", "0", "0"]
    assert [text(answer.findtext("text")) for answer in answers] == [plain(option) for option in ASKED.options]
    feedback = [text(answer.findtext("feedback/text")) for answer in answers]
    assert feedback == [plain(why) for why in ASKED.options.values()]
    assert choice.findtext("single") == "true" and choice.findtext("idnumber") == f"q{ASKED.name}"
    assert "1 < 2 & all is well" in text(choice.findtext("questiontext/text"))
    for question, each in zip(quiz[3:], read_sheet(CHAPTERS / "03_views.md").exercises, strict=True):
        assert question.findtext("responsetemplate/text") == each.starter
        assert text(question.findtext("graderinfo/text")) == each.solution
        assert question.findtext("name/text")


def test_the_manifest_lists_every_item_of_the_package(items):
    manifest = items["imsmanifest.xml"]
    assert manifest.tag == f"{{{PACKAGE}}}manifest"
    assert manifest.findtext(f"{{{PACKAGE}}}metadata/{{{PACKAGE}}}schema") == "QTIv2.1 Package"
    resources = list(manifest.find(f"{{{PACKAGE}}}resources"))
    assert {each.get("href") for each in resources} == set(items) - {"imsmanifest.xml"}
    for each in resources:
        assert each.get("type") == "imsqti_item_xmlv2p1"
        drawn = [] if each.get("identifier") == f"q{ASKED.name}" else [f"pictures/{each.get('identifier')}.svg"]
        assert [file.get("href") for file in each] == [each.get("href"), *drawn]
        assert items[each.get("href")].get("identifier") == each.get("identifier")


def test_every_file_of_the_package_keeps_the_rules_of_qti(items):
    for name, content in items.items():
        faults = list(qti_faults(content, PACKAGE if name == "imsmanifest.xml" else QTI))
        assert not faults, (name, faults)


@pytest.mark.parametrize(
    "old, new, fault",
    [
        ("<value>option0<", "<value>option9<", r"the correct response \['option9'\] is no choice"),
        (' title="', ' name="', "assessmentItem has no title"),
        ('adaptive="false"', 'adaptive="no"', "adaptive='no'"),
        ('maxChoices="1"', 'maxChoices="one"', "maxChoices='one'"),
        ("simpleChoice", "simpleOption", "simpleOption is no element"),
        ('identifier="option1"', 'identifier="option0"', "two choices have one identifier"),
        ('outcomeIdentifier="FEEDBACK"', 'outcomeIdentifier="GRADE"', "feedback asks for the outcome GRADE"),
        ('<baseValue baseType="float"', '<baseValue baseType="integer"', "a rule sets SCORE to .* integer"),
        ('<variable identifier="RESPONSE"', '<variable identifier="ANSWER"', "a rule reads ANSWER"),
        ("<itemBody>", "<itemBody>text", "itemBody has text"),
        ("</itemBody>", "</itemBody><itemBody/>", r"itemBody has the children \[\]"),
        ("<itemBody>", "<responseProcessing/><itemBody>", "assessmentItem has the children"),
    ],
)
def test_a_broken_item_is_noticed(items, old, new, fault):
    text = ET.tostring(items[f"items/q{ASKED.name}.xml"], encoding="unicode").replace("ns0:", "").replace(":ns0", "")
    assert old in text
    broken = ET.fromstring(text.replace(old, new))
    assert re.search(fault, "\n".join(qti_faults(broken, QTI)))


def test_moodle_would_read_every_question(bank):
    assert list(moodle_faults(ET.parse(bank / "moodle.xml").getroot())) == []


@pytest.mark.parametrize(
    "old, new, fault",
    [
        ('fraction="100"', 'fraction="50"', "the fractions of the answers"),
        ('type="essay"', 'type="code"', "is no question"),
        ('format="html"', 'format="text"', "has the format 'text'"),
        ("&lt;/p&gt;", "", "the HTML of"),
        ("<single>true", "<single>yes", "single is 'yes'"),
        ("$course$/top", "top", "a category is"),
        ("<penalty>0.", "<penalty>3.", "penalty is"),
        ("<idnumber>e03-2", "<idnumber>e03-1", "the id of a question"),
        ("<responseformat>monospaced", "<responseformat>code", "responseformat is 'code'"),
        ("<answernumbering>abc", "<answernumbering>a)", "answernumbering is"),
    ],
)
def test_a_question_that_moodle_would_refuse_is_noticed(bank, old, new, fault):
    text = (bank / "moodle.xml").read_text(encoding="utf-8")
    assert old in text
    assert re.search(fault, "\n".join(moodle_faults(ET.fromstring(text.replace(old, new)))))


def test_each_exercise_of_the_book_has_a_program_for_its_picture_and_no_program_is_unused():
    programs = json.loads(OF_EXERCISES.read_text(encoding="utf-8"))
    named = {sheet: set(of_sheet) for sheet, of_sheet in programs.items()}
    assert named == {sheet.name: {each.name for each in sheet.exercises} for sheet in read_sheets()}


def test_all_exercises_of_the_book_keep_the_rules_of_both_formats(tmp_path):
    write_bank(tmp_path, read_exercises(read_sheets(), CAPTIONS))
    assert list(moodle_faults(ET.parse(tmp_path / "moodle.xml").getroot())) == []
    with zipfile.ZipFile(tmp_path / "qti.zip") as package:
        names = [name for name in package.namelist() if name.startswith("items/")]
        assert len(names) > 20
        faults = {name: list(qti_faults(ET.fromstring(package.read(name)), QTI)) for name in names}
    assert not {name: found for name, found in faults.items() if found}


def test_each_choice_of_qti_has_its_feedback_and_one_is_correct(items):
    item = items[f"items/q{ASKED.name}.xml"]
    choices = {each.get("identifier"): words(each) for each in item.iter(f"{{{QTI}}}simpleChoice")}
    feedback = {each.get("identifier"): words(each) for each in item.iter(f"{{{QTI}}}modalFeedback")}
    assert {choices[key]: feedback[key] for key in choices} == {
        plain(option): plain(why) for option, why in ASKED.options.items()
    }
    (correct,) = item.iter(f"{{{QTI}}}value")
    assert choices[correct.text] == "True"


def test_an_exercise_in_qti_shows_its_solution_to_the_scorer_only(items):
    for number, each in enumerate(read_sheet(CHAPTERS / "03_views.md").exercises, 1):
        item = items[f"items/e03-{number}.xml"]
        (rubric,) = item.iter(f"{{{QTI}}}rubricBlock")
        assert rubric.get("view") == "scorer" and words(rubric) == each.solution
        shown = words(item).replace(words(rubric), "", 1)
        assert each.starter in shown and each.solution not in shown


def test_the_table_has_a_row_for_each_option_and_each_exercise(bank):
    with (bank / "questions.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["kind"] for row in rows] == ["prediction"] * 3 + ["exercise"] * 2
    assert [(row["option"], row["right"], row["feedback"]) for row in rows[:3]] == [
        (plain(option), "no" if number else "yes", plain(why))
        for number, (option, why) in enumerate(ASKED.options.items())
    ]


def test_equal_questions_give_equal_bytes(bank, questions, tmp_path):
    write_bank(tmp_path, questions)
    for name in ("moodle.xml", "qti.zip", "questions.csv"):
        assert (tmp_path / name).read_bytes() == (bank / name).read_bytes()


def test_a_question_that_is_asked_twice_is_an_error():
    with pytest.raises(ValueError, match=r"asked twice.*all is well"):
        read_predictions([page(ASKED, ASKED)], CAPTIONS)


def test_markup_that_the_bank_would_lose_is_an_error():
    changed = BuiltPage("chapters/01_a", page(ASKED).text.replace("an error", "an <em>error</em>", 1))
    with pytest.raises(ValueError, match="may contain code, but not <em>"):
        read_predictions([changed], CAPTIONS)
