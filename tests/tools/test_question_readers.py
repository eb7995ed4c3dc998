"""Test that three third-party programs read the question bank: Pyslet runs QTI, two others read QTI or Moodle XML."""

from __future__ import annotations

import re
import shutil
import zipfile

import pytest

from _ext.book_pages.built_page import BuiltPage
from book_kit import predict
from tests.support.class_plan import CAPTIONS
from tests.support.question_readers import differences, needs_readers, read
from tools.class_notebooks import CHAPTERS, read_sheet
from tools.question_bank import read_exercises, read_predictions

pytestmark = needs_readers

CHOICES = [
    predict(
        "`x = mt.ones([3])\ny = x`\nWhat does `y is x` give, if 1 < 2 & all is well?",
        {"`False`": "That would need a <copy>.", "`True`": "`y = x` makes a name.", "an error": "Nothing raises."},
        "`True`",
    ),
    predict("Who owns the numbers?", {"the storage": "It does.", "the tensor": "It **reads** them."}, "the storage"),
]
RIGHT = "<value>option1</value>"


@pytest.fixture(scope="module")
def questions():
    html = "".join(each._repr_mimebundle_()["text/html"] for each in CHOICES)
    page = BuiltPage("chapters/01_a", f"<article><h1>1. A</h1>{html}</article>")
    return [*read_predictions([page], CAPTIONS), *read_exercises([read_sheet(CHAPTERS / "03_views.md")], CAPTIONS)]


@pytest.fixture
def changed(bank, tmp_path):
    """Return a function that copies the bank with one text replaced in the items of the QTI package."""

    def change(old, new):
        shutil.copy(bank / "moodle.xml", tmp_path)
        with zipfile.ZipFile(bank / "qti.zip") as source, zipfile.ZipFile(tmp_path / "qti.zip", "w") as target:
            texts = {name: source.read(name).decode() for name in source.namelist()}
            assert any(old in text for text in texts.values())
            for name, text in texts.items():
                target.writestr(name, text.replace(old, new))
        return tmp_path

    return change


def test_three_programs_read_every_question_with_its_score_and_feedback(bank, questions, tmp_path):
    assert list(differences(bank, tmp_path, questions)) == []


@pytest.mark.parametrize(
    "old, new, fault",
    [
        (RIGHT, "<value>option0</value>", "Pyslet scores .* onyx2moodle has made"),
        ('<baseValue baseType="float">1<', '<baseValue baseType="float">2<', "Pyslet scores"),
        ('identifier="option1" showHide', 'identifier="option7" showHide', "Pyslet has read the feedback"),
        ('maxChoices="1"', 'maxChoices="one"', "Bad attribute value .*maxChoices"),
        ("simpleChoice", "simpleOption", "Pyslet (scores {}|has read .*simpleOption)"),
    ],
)
def test_an_item_that_the_programs_read_differently_is_reported(changed, questions, tmp_path, old, new, fault):
    folder = changed(old, new)
    work = tmp_path / "work"
    work.mkdir()
    assert re.search(fault, " ".join(differences(folder, work, questions)), re.DOTALL)


@pytest.mark.parametrize(
    "old, new, error",
    [
        ("<itemBody>", "<itemBody>text", "Unexpected data .in itemBody."),
        ("<itemBody>", "<itemBody><choice/>", "'choice'.* in ItemBody"),
        ("</p>", "<pre>x</pre></p>", "Pre not allowed in P"),
    ],
)
def test_pyslet_refuses_an_element_or_text_in_the_wrong_place(changed, tmp_path, old, new, error):
    folder = changed(old, new)
    ran = read(folder, tmp_path)
    assert ran.returncode and re.search(error, ran.stderr)
