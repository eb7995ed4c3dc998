"""Write the predictions and exercises of the book as a question bank: Moodle XML, a QTI 2.1 package and CSV.

Predictions are read from the built pages, because their cells compute the right option. Each option has its feedback:
the reason that it is right, or the mistake in it. Exercises become questions with a free answer, which a teacher
grades: the answer begins with the unfinished function, and the solution is a note for the teacher.

Every question has a picture. If a stage of the page shows the answer to a prediction, the picture is the first step of
that stage, as on the hand-outs. Otherwise it is the memory at the end of a program: the cell of a prediction names one,
and `book/exercise_pictures.json` has one for each exercise. Without the optional package mini-racer, the bank has no
pictures.
"""

from __future__ import annotations

import base64
import csv
import json
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bs4 import NavigableString, Tag
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
if __package__ in (None, ""):  # if this runs as a script, Python finds only the modules beside it
    sys.path.insert(0, str(ROOT))

from _ext.book_pages.built_page import BuiltPage  # noqa: E402
from _ext.book_pages.class_papers import QuestionStart, start_of, start_of_program  # noqa: E402
from _ext.book_pages.stills import as_file  # noqa: E402
from tools.class_notebooks import ExerciseSheet  # noqa: E402

QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
COLUMNS = ("chapter", "id", "kind", "question", "picture", "option", "right", "feedback")
OF_EXERCISES = ROOT / "book" / "exercise_pictures.json"  # the lines of a program, by chapter and function
PICTURES = "pictures"  # the folder of the pictures, beside `questions.csv` and in the QTI package
LONGEST_NAME = 70  # the largest number of characters of a question's name in a list
DAY = (2026, 1, 1, 0, 0, 0)  # the date of all files in the package, so that equal questions give equal bytes


@dataclass(frozen=True)
class ContentBlock:
    """A paragraph, or lines of code."""

    element: ET.Element

    @property
    def plain(self) -> str:
        return "".join(self.element.itertext()).strip()


@dataclass(frozen=True)
class AnswerOption:
    """An option of a prediction, with the text that a student reads after choosing it."""

    text: list[ContentBlock]
    feedback: list[ContentBlock]
    right: bool


@dataclass(frozen=True)
class StartPicture:
    """The memory before the line that a question is about."""

    svg: str
    line: str  # the source of the line, or of the program, that has just run
    alt: str  # the sentence of the stage about that line
    caption: str  # the sentence above the picture, with the placeholder {line}


@dataclass(frozen=True)
class BankQuestion:
    """A prediction with two or more options, or an exercise without options."""

    chapter: str  # such as "3. Views"
    key: str  # identifies the question in all formats
    text: list[ContentBlock]
    options: list[AnswerOption]
    starter: str = ""  # the unfinished function of an exercise
    solution: str = ""
    picture: StartPicture | None = None

    @property
    def file(self) -> str:
        """Return the name of the file of the question's picture."""
        return f"{self.key}.svg"

    def text_with_picture(self, folder: str) -> list[ContentBlock]:
        """Return the text, followed by the caption with its line and by the picture, a file in `folder`."""
        if self.picture is None:
            return self.text
        caption, around = ET.Element("p"), ET.Element("p")
        code = ET.SubElement(caption, "code")
        code.text = self.picture.line
        caption.text, _, code.tail = self.picture.caption.partition("{line}")
        # Moodle's themes use this class to fit a picture into a narrow window.
        ET.SubElement(around, "img", src=f"{folder}/{self.file}", alt=self.picture.alt, attrib={"class": "img-fluid"})
        return [*self.text, ContentBlock(caption), ContentBlock(around)]

    @property
    def name(self) -> str:
        """Return the last paragraph of the question, shortened to LONGEST_NAME characters, as its name in a list."""
        text = " ".join(self.text[-1].plain.split())
        if len(text) <= LONGEST_NAME:
            return text
        cut = text[: LONGEST_NAME - 2]
        # Chinese has spaces only around code, so the last space can be far from the end.
        return (cut[: cut.rfind(" ", LONGEST_NAME // 2)].rstrip() if " " in cut[LONGEST_NAME // 2 :] else cut) + " …"


def read_predictions(pages: list[BuiltPage], captions: dict[str, str]) -> list[BankQuestion]:
    """Return the predictions of built pages, in order.

    Args:
        pages: the pages, all in one language.
        captions: the captions of the pictures in that language: `bank` in the plan of the class.

    Raises:
        ValueError: if a prediction occurs twice: both would have one key, a hash of the question and the options.
    """
    found = []
    for page in pages:
        for question in page.questions:
            right = int(question["data-right"])
            options = [
                AnswerOption(
                    text=_blocks(option),
                    feedback=_blocks(
                        question.select_one(".mt-why")
                        if number == right
                        else question.select_one(f'.mt-others > dd[data-option="{number}"]')
                    ),
                    right=number == right,
                )
                for number, option in enumerate(question.select(".mt-options > li"))
            ]
            text = _blocks(question.select_one(".mt-question"))
            start = start_of(page, question)
            asked = question.select_one(".mt-question").get_text()
            picture = _picture(start, captions, asked) if start else None
            found.append(BankQuestion(page.title, f"q{question['data-name']}", text, options, picture=picture))
    keys = [each.key for each in found]
    if repeated := {key for key in keys if keys.count(key) > 1}:
        names = [each.name for each in found if each.key in repeated]
        raise ValueError(f"these questions are asked twice with the same options: {names}")
    return found


def read_exercises(sheets: list[ExerciseSheet], captions: dict[str, str], language: str = "en") -> list[BankQuestion]:
    """Return the exercises of the chapters as questions with a free answer.

    Args:
        sheets: the exercises, all in one language.
        captions: the captions of the pictures in that language: `bank` in the plan of the class.
        language: the language of the sentences of the pictures.
    """
    markdown = MarkdownIt("commonmark", {"html": False})
    programs = json.loads(OF_EXERCISES.read_text(encoding="utf-8"))
    return [
        BankQuestion(
            chapter=sheet.title,
            key=f"e{sheet.name[:2]}-{number}",
            text=[ContentBlock(block) for block in ET.fromstring(f"<div>{markdown.render(each.text)}</div>")],
            options=[],
            starter=each.starter,
            solution=each.solution,
            picture=_picture(start_of_program(programs[sheet.name][each.name], language), captions),
        )
        for sheet in sheets
        for number, each in enumerate(sheet.exercises, 1)
    ]


def write_bank(folder: Path, questions: list[BankQuestion]) -> None:
    """Write `moodle.xml`, `qti.zip`, `questions.csv`, and the folder PICTURES for the CSV file, into `folder`."""
    pictures = folder / PICTURES
    pictures.mkdir(parents=True, exist_ok=True)
    for old in pictures.glob("*.svg"):
        old.unlink()
    drawings = [(each.file, each.picture.svg) for each in questions if each.picture]
    for name, svg in drawings:
        (pictures / name).write_text(svg, encoding="utf-8")
    (folder / "moodle.xml").write_bytes(ET.tostring(moodle(questions), encoding="utf-8", xml_declaration=True))
    with zipfile.ZipFile(folder / "qti.zip", "w") as package:
        for name, content in qti_files(questions):
            data = ET.tostring(content, encoding="utf-8", xml_declaration=True)
            package.writestr(zipfile.ZipInfo(name, DAY), data, zipfile.ZIP_DEFLATED)
        for name, svg in drawings:
            package.writestr(zipfile.ZipInfo(f"{PICTURES}/{name}", DAY), svg.encode(), zipfile.ZIP_DEFLATED)
    # Excel reads UTF-8 only after a byte order mark, which "utf-8-sig" writes.
    with (folder / "questions.csv").open("w", encoding="utf-8-sig", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        rows.writerows(_rows(questions))


# ---------- Moodle XML ----------


def moodle(questions: list[BankQuestion]) -> ET.Element:
    """Return a Moodle quiz, with one category for each chapter."""
    quiz, chapter = ET.Element("quiz"), ""
    for each in questions:
        if each.chapter != chapter:
            chapter = each.chapter
            category = ET.SubElement(quiz, "question", type="category")
            _add_text(ET.SubElement(category, "category"), f"$course$/top/In Place/{chapter.replace('/', '//')}")
        question = ET.SubElement(quiz, "question", type="multichoice" if each.options else "essay")
        _add_text(ET.SubElement(question, "name"), each.name)
        _add_html(question, "questiontext", each.text_with_picture("@@PLUGINFILE@@"))
        if each.picture:
            attributes = {"name": each.file, "path": "/", "encoding": "base64"}
            file = ET.SubElement(question[-1], "file", attributes)
            file.text = base64.b64encode(each.picture.svg.encode()).decode()
        _add_html(question, "generalfeedback", [])
        for name, value in {"defaultgrade": "1", "penalty": "0.3333333", "hidden": "0", "idnumber": each.key}.items():
            ET.SubElement(question, name).text = value
        if each.options:
            for name, value in {"single": "true", "shuffleanswers": "false", "answernumbering": "abc"}.items():
                ET.SubElement(question, name).text = value
            for option in each.options:
                answer = ET.SubElement(question, "answer", fraction="100" if option.right else "0", format="html")
                ET.SubElement(answer, "text").text = _as_html(option.text)
                _add_html(answer, "feedback", option.feedback)
        else:
            fields = {"responseformat": "monospaced", "responserequired": "1", "responsefieldlines": "15"}
            for name, value in {**fields, "attachments": "0", "attachmentsrequired": "0"}.items():
                ET.SubElement(question, name).text = value
            _add_html(question, "graderinfo", [_code(each.solution)])
            _add_text(ET.SubElement(question, "responsetemplate", format="plain_text"), each.starter)
    return quiz


def _add_text(parent: ET.Element, text: str) -> None:
    ET.SubElement(parent, "text").text = text


def _add_html(parent: ET.Element, name: str, blocks: list[ContentBlock]) -> None:
    _add_text(ET.SubElement(parent, name, format="html"), _as_html(blocks))


def _as_html(blocks: list[ContentBlock]) -> str:
    return "".join(ET.tostring(block.element, encoding="unicode").strip() for block in blocks)


# ---------- QTI 2.1 ----------


def qti_files(questions: list[BankQuestion]) -> Iterator[tuple[str, ET.Element]]:
    """Yield the XML files of a QTI package: one for each question, and the manifest, which lists all files."""
    manifest = ET.Element("manifest", xmlns=PACKAGE, identifier="in-place")
    metadata = ET.SubElement(manifest, "metadata")
    ET.SubElement(metadata, "schema").text = "QTIv2.1 Package"
    ET.SubElement(metadata, "schemaversion").text = "1.0.0"
    ET.SubElement(manifest, "organizations")
    resources = ET.SubElement(manifest, "resources")
    for each in questions:
        name = f"items/{each.key}.xml"
        kind = {"type": "imsqti_item_xmlv2p1", "href": name}
        resource = ET.SubElement(resources, "resource", identifier=each.key, **kind)
        for file in (name, f"{PICTURES}/{each.file}") if each.picture else (name,):
            ET.SubElement(resource, "file", href=file)
        yield name, qti_item(each)
    yield "imsmanifest.xml", manifest


def qti_item(question: BankQuestion) -> ET.Element:
    """Return a QTI item: a choice with feedback for each option, or a free answer with a solution for the scorer."""
    item = ET.Element(
        "assessmentItem",
        xmlns=QTI,
        identifier=question.key,
        title=f"{question.chapter}: {question.name}",
        adaptive="false",
        timeDependent="false",
    )
    base = "identifier" if question.options else "string"
    response = ET.SubElement(item, "responseDeclaration", identifier="RESPONSE", cardinality="single", baseType=base)
    ET.SubElement(item, "outcomeDeclaration", identifier="SCORE", cardinality="single", baseType="float")
    if question.options:
        feedback = {"identifier": "FEEDBACK", "cardinality": "single", "baseType": "identifier"}
        ET.SubElement(item, "outcomeDeclaration", feedback)
    body = ET.SubElement(item, "itemBody")
    body.extend(block.element for block in question.text_with_picture(f"../{PICTURES}"))
    if not question.options:
        rubric = ET.SubElement(body, "rubricBlock", view="scorer")
        rubric.append(_code(question.solution).element)
        body.append(_code(question.starter).element)
        ET.SubElement(body, "extendedTextInteraction", responseIdentifier="RESPONSE", expectedLines="15")
        return item
    choice = {"responseIdentifier": "RESPONSE", "shuffle": "false", "maxChoices": "1"}
    interaction = ET.SubElement(body, "choiceInteraction", choice)
    processing = ET.SubElement(item, "responseProcessing")
    for number, option in enumerate(question.options):
        key = f"option{number}"
        if option.right:
            ET.SubElement(ET.SubElement(response, "correctResponse"), "value").text = key
        ET.SubElement(interaction, "simpleChoice", identifier=key).extend(block.element for block in option.text)
        shown = {"outcomeIdentifier": "FEEDBACK", "identifier": key, "showHide": "show"}
        ET.SubElement(item, "modalFeedback", shown).extend(block.element for block in option.feedback)
    condition = ET.SubElement(processing, "responseCondition")
    right = ET.SubElement(condition, "responseIf")
    match = ET.SubElement(right, "match")
    ET.SubElement(match, "variable", identifier="RESPONSE")
    ET.SubElement(match, "correct", identifier="RESPONSE")
    for branch, score in ((right, "1"), (ET.SubElement(condition, "responseElse"), "0")):
        value = ET.SubElement(branch, "setOutcomeValue", identifier="SCORE")
        ET.SubElement(value, "baseValue", baseType="float").text = score
    chosen = ET.SubElement(processing, "setOutcomeValue", identifier="FEEDBACK")
    ET.SubElement(chosen, "variable", identifier="RESPONSE")
    return item


# ---------- CSV, and the text of a page ----------


def _rows(questions: list[BankQuestion]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each option of a prediction, and a row for each exercise, with the solution as feedback."""
    for each in questions:
        start = (each.chapter, each.key, "prediction" if each.options else "exercise", _as_text(each.text))
        picture = f"{PICTURES}/{each.file}" if each.picture else ""
        for option in each.options:
            yield (*start, picture, _as_text(option.text), "yes" if option.right else "no", _as_text(option.feedback))
        if not each.options:
            yield (*start[:3], f"{start[3]}\n\n{each.starter}", picture, "", "", each.solution)


def _as_text(blocks: list[ContentBlock]) -> str:
    return "\n".join(block.plain for block in blocks)


def _code(text: str) -> ContentBlock:
    block = ET.Element("pre")
    ET.SubElement(block, "code").text = text
    return ContentBlock(block)


def _picture(start: QuestionStart, captions: dict[str, str], asked: str = "") -> StartPicture | None:
    """Return the picture of a question with the text ``asked``; None if mini-racer is not installed."""
    svg = start.draw()
    if not svg:
        return None
    kind = "example" if start.is_example else "asked" if start.line in asked else "similar"
    return StartPicture(as_file(svg), start.line, start.sentence, captions[kind])


def _blocks(piece: Tag | None) -> list[ContentBlock]:
    """Return the text of an element as blocks. Code of several lines becomes a separate block.

    Raises:
        ValueError: if it contains elements other than code, because their content would be lost.
    """
    assert piece is not None
    found = [ET.Element("p")]
    for node in piece.children:
        here = found[-1]
        if isinstance(node, NavigableString):
            if len(here):
                here[-1].tail = (here[-1].tail or "") + str(node)
            else:
                here.text = (here.text or "") + str(node)
        elif node.name != "code":
            raise ValueError(f"a question may contain code, but not <{node.name}>: {piece.get_text()[:90]!r}")
        elif "mt-lines" in node.get("class", []):
            found += [_code(node.get_text()).element, ET.Element("p")]
        else:
            ET.SubElement(here, "code").text = node.get_text()
    return [ContentBlock(each) for each in found if "".join(each.itertext()).strip()]
