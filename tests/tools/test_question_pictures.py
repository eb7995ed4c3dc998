"""Test the pictures of the question bank: which step they show, and that Moodle, QTI and CSV all have them."""

from __future__ import annotations

import base64
import csv
import re
import xml.etree.ElementTree as ET
import zipfile

import pytest
from sphinx.errors import ExtensionError

import memory_stage
from _ext.book_pages.built_page import BuiltPage
from _ext.book_pages.stills import as_file
from book_kit import predict
from memory_stage.web import picture, static_html
from tests.support.class_plan import CAPTIONS
from tests.support.question_formats import moodle_faults, qti_faults
from tools.question_bank import COLUMNS, PACKAGE, QTI, read_predictions, write_bank

FIRST = "x = mt.ones([3])"
OTHERS = ("y = x[0:2]", "y = x + 1.0")
CODE = f"{FIRST}\n{OTHERS[0]}\ny[0] = 7.0"


def ask(text, **proof):
    return predict(text, {"`7.0`": "They share memory.", "`1.0`": "That would need a copy."}, "`7.0`", **proof)


NEXT = ask(f"`{CODE}`\nWhat is `x[0]`?", line=3)
NAMED = ask("`z = mt.ones([2])\nz[0] = 7.0`\nWhat is `z[0]`?", line=3, stage="Views & copies", variant="a copy")
ALONE = ask("What is `7.0 * 1`?")
EXAMPLE = ask("What is `x[0] * 7.0`, if `x` holds ones?", picture="x = mt.ones([2])\ny = x[1:]")


@pytest.fixture(scope="module")
def stages():
    return {
        "next": memory_stage.record(CODE, title="A write"),
        "named": memory_stage.compare(
            {"a view": CODE, "a copy": CODE.replace(OTHERS[0], OTHERS[1]).replace("ones", "zeros")},
            title="Views & copies",
        ),
    }


@pytest.fixture(scope="module")
def questions(stages):
    following, named = (static_html.as_html(stages[name].data) for name in ("next", "named"))
    asked = "".join(each._repr_mimebundle_()["text/html"] for each in (NAMED, ALONE, EXAMPLE, NEXT))
    page = BuiltPage("chapters/01_a", f"<article><h1>1. A</h1>{asked}{following}{named}</article>")
    return read_predictions([page], CAPTIONS)


@pytest.fixture(scope="module")
def package(bank):
    with zipfile.ZipFile(bank / "qti.zip") as file:
        return {name: file.read(name) for name in file.namelist()}


def file_of(question):
    return f"q{question.name}.svg"


def test_a_question_has_the_first_step_of_the_stage_and_variant_that_it_names(questions, stages):
    named, alone, _, following = (each.picture for each in questions)
    assert alone is None
    for drawn, data, variant in ((named, stages["named"].data, 1), (following, stages["next"].data, 0)):
        in_page = picture.svg(data, variant, 0, 700)
        assert drawn.svg == as_file(in_page) != in_page
        assert drawn.alt == data["variants"][variant]["steps"][0]["say"].replace("`", "")
    assert (following.line, following.caption) == (FIRST, CAPTIONS["asked"])
    assert (named.line, named.caption) == (FIRST.replace("ones", "zeros"), CAPTIONS["similar"])


def test_a_question_without_a_stage_has_the_memory_after_the_program_that_it_names(questions):
    drawn = questions[2].picture
    assert (drawn.line, drawn.caption) == ("x = mt.ones([2]); y = x[1:]", CAPTIONS["example"])
    recorded = memory_stage.record("x = mt.ones([2])\ny = x[1:]", depth="tensors").data
    assert drawn.svg == as_file(picture.svg(recorded, 0, 1, 700))
    assert drawn.alt == recorded["variants"][0]["steps"][1]["say"].replace("`", "")


@pytest.mark.parametrize(
    "html, sentence", [('<html lang="zh-CN">', "字节"), ('<html lang="en">', "8 bytes"), ("", "8 bytes")]
)
def test_the_sentence_of_a_picture_has_the_language_of_its_page(html, sentence):
    asked = EXAMPLE._repr_mimebundle_()["text/html"].replace("y = x[1:]", "y = x + 1.0")
    page = BuiltPage("chapters/01_a", f"{html}<article><h1>1. A</h1>{asked}</article>")
    (found,) = read_predictions([page], CAPTIONS)
    assert sentence in found.picture.alt


def test_a_picture_whose_program_raises_is_an_error():
    asked = ask("What is `7.0 * 1`?", picture="x = mt.ones([2])\nx.reshape([3])")._repr_mimebundle_()["text/html"]
    with pytest.raises(ExtensionError, match=r"x = mt.ones\(\[2\]\); x.reshape\(\[3\]\)"):
        read_predictions([BuiltPage("chapters/01_a", f"<article><h1>1. A</h1>{asked}</article>")], CAPTIONS)


def test_a_picture_in_a_file_has_a_background_and_shows_its_new_elements_at_once(browser, questions):
    drawn = questions[0].picture.svg
    assert 'class="new"' in drawn
    page = browser.new_page(viewport={"width": 720, "height": 300})
    page.set_content(drawn)
    assert page.evaluate("document.getAnimations().length") == 0
    style = page.evaluate("getComputedStyle(document.querySelector('.new')).animationName")
    assert style == "none"
    assert page.evaluate("getComputedStyle(document.querySelector('svg')).backgroundColor") == "rgb(255, 255, 255)"
    page.close()


def test_moodle_has_each_picture_as_a_file_of_the_question_that_shows_it(bank, questions):
    quiz = ET.parse(bank / "moodle.xml").getroot()
    assert list(moodle_faults(quiz)) == []
    for each, question in zip(questions, quiz.findall("question")[1:], strict=True):
        shown = ET.fromstring(f"<div>{question.findtext('questiontext/text')}</div>").findall(".//img")
        files = question.findall("questiontext/file")
        assert len(shown) == len(files) == bool(each.picture)
        for image, file in zip(shown, files, strict=True):
            assert image.get("src") == f"@@PLUGINFILE@@/{file.get('name')}" and image.get("alt") == each.picture.alt
            assert base64.b64decode(file.text).decode() == each.picture.svg


@pytest.mark.parametrize(
    "old, new, fault",
    [
        ("@@PLUGINFILE@@/q", "q", "have the files"),
        (f'file name="{file_of(NEXT)}"', 'file name="other.svg"', "have the files"),
        ('alt="[^"]+"', 'alt=""', "no alternative text"),
        ('encoding="base64"', 'encoding="hex"', "the encoding 'hex'"),
        (r'base64">', 'base64">?', "not base64"),
    ],
)
def test_a_picture_that_moodle_would_lose_is_noticed(bank, old, new, fault):
    text = (bank / "moodle.xml").read_text(encoding="utf-8")
    assert re.search(old, text)
    assert re.search(fault, "\n".join(moodle_faults(ET.fromstring(re.sub(old, new, text)))))


def test_the_manifest_lists_each_file_once_and_each_item_shows_the_pictures_of_its_resource(package, questions):
    manifest = ET.fromstring(package["imsmanifest.xml"])
    assert list(qti_faults(manifest, PACKAGE)) == []
    listed = [file.get("href") for file in manifest.iter(f"{{{PACKAGE}}}file")]
    assert sorted([*listed, "imsmanifest.xml"]) == sorted(package)
    drawn = {each.key: each.picture for each in questions}
    for resource in manifest.iter(f"{{{PACKAGE}}}resource"):
        item, *pictures = [file.get("href") for file in resource]
        content = ET.fromstring(package[item])
        assert list(qti_faults(content, QTI)) == []
        shown = list(content.iter(f"{{{QTI}}}img"))
        assert [image.get("src") for image in shown] == [f"../{name}" for name in pictures]
        expected = drawn[resource.get("identifier")]
        assert [package[name].decode() for name in pictures] == ([expected.svg] if expected else [])
        assert [image.get("alt") for image in shown] == ([expected.alt] if expected else [])


@pytest.mark.parametrize(
    "old, new, fault",
    [
        (' alt="[^"]+"', "", "img has no alt"),
        (' alt="[^"]+"', ' alt=""', "img has alt=''"),
        (' src="[^"]+"', "", "img has no src"),
        ("<itemBody>", '<itemBody><img src="a" alt="a"/>', "itemBody has the children"),
    ],
)
def test_a_picture_that_breaks_the_rules_of_qti_is_noticed(package, old, new, fault):
    text = package[f"items/q{NEXT.name}.xml"].decode()
    assert re.search(old, text)
    assert re.search(fault, "\n".join(qti_faults(ET.fromstring(re.sub(old, new, text)), QTI)))


def test_the_table_names_the_file_of_each_picture_beside_it(bank, questions):
    with (bank / "questions.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    named = {row["id"]: row["picture"] for row in rows}
    for each in questions:
        assert bool(named[each.key]) == bool(each.picture)
        if each.picture:
            assert (bank / named[each.key]).read_text(encoding="utf-8") == each.picture.svg


def test_writing_the_bank_again_deletes_the_picture_of_a_removed_question(questions, tmp_path):
    write_bank(tmp_path, questions)
    write_bank(tmp_path, questions[1:])
    assert {file.name for file in (tmp_path / "pictures").iterdir()} == {file_of(EXAMPLE), file_of(NEXT)}
