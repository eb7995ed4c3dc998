"""Rules of the formats of the question bank: the questions that Moodle imports, and the schema of QTI 2.1.

Moodle has no schema for its XML; `moodle_faults` follows the rules by which Moodle's `question/format/xml/format.php`
and the forms of its question types read a file. The schema of QTI 2.1, `imsqti_v2p1.xsd`, is not part of the book,
because its licence asks those who add it to a product to register. `qti_faults` states the schema's rules for the
elements that the bank uses, and rules of the specification that no schema can express.

On 27 November 2026 these rules were compared, by reading, with the schema (IMS QTI 2.1, final release of 31 July
2012, as QTIWorks distributes it): the children and attributes of `assessmentItem`, `outcomeDeclaration`,
`correctResponse`, `value`, `itemBody`, `rubricBlock`, `choiceInteraction`, `simpleChoice`, the response rules and the
elements of HTML; and only the attributes of `responseDeclaration`, `img`, `extendedTextInteraction`, `modalFeedback`.
One rule was too loose, and was corrected: the schema requires a child of `itemBody`. Elsewhere the rules are as strict
or stricter: the schema also allows pictures in `pre` and `code`, text in `simpleChoice`, `rubricBlock` and
`modalFeedback`, and further elements and attributes. No validator has run the schema on the items, because no package
with the schema was found. The rules of the manifest, `imscp_v1p1.xsd`, were not compared.
"""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

IDENTIFIER = r"[A-Za-z_][\w.-]*"
BOOLEAN = "true|false"
DECLARED = {
    "identifier": (True, IDENTIFIER),
    "cardinality": (True, "single|multiple|ordered|record"),
    "baseType": (False, "identifier|boolean|integer|float|string"),
}
STATIC = "(p |pre |ul |ol )"
IN_LINES = "(code |strong |em |a )*"  # lines of code have no pictures
INLINE = "(code |strong |em |a |img )*"
EXPRESSION = "(match |variable |correct |baseValue )"
RULE = "(setOutcomeValue |responseCondition )"
#: Maps each element of an item to a pattern for its children in order, and to its attributes. Each attribute has True
#: if it is required, and a pattern for its value.
ITEM = {
    "assessmentItem": (
        "(responseDeclaration )*(outcomeDeclaration )*(itemBody )?(responseProcessing )?(modalFeedback )*",
        {
            "identifier": (True, ".+"),
            "title": (True, ".+"),
            "adaptive": (True, BOOLEAN),
            "timeDependent": (True, BOOLEAN),
        },
    ),
    "responseDeclaration": ("(correctResponse )?", DECLARED),
    "correctResponse": ("(value )+", {}),
    "value": ("", {}),
    "outcomeDeclaration": ("", DECLARED),
    "itemBody": (f"({STATIC}|rubricBlock |choiceInteraction |extendedTextInteraction )+", {}),
    "p": (INLINE, {}),
    "strong": (INLINE, {}),
    "em": (INLINE, {}),
    "a": (INLINE, {"href": (True, ".+")}),
    "img": ("", {"src": (True, ".+"), "alt": (True, ".+"), "class": (False, ".+")}),
    "ul": ("(li )*", {}),
    "ol": ("(li )*", {}),
    "li": (f"({INLINE}|{STATIC}*)", {}),
    "pre": (IN_LINES, {}),
    "code": ("", {"class": (False, ".+")}),
    "rubricBlock": (f"{STATIC}*", {"view": (True, "author|candidate|proctor|scorer|testConstructor|tutor")}),
    "choiceInteraction": (
        "(prompt )?(simpleChoice )+",
        {"responseIdentifier": (True, IDENTIFIER), "shuffle": (False, BOOLEAN), "maxChoices": (False, r"\d+")},
    ),
    "simpleChoice": (f"{STATIC}*", {"identifier": (True, IDENTIFIER)}),
    "extendedTextInteraction": (
        "(prompt )?",
        {"responseIdentifier": (True, IDENTIFIER), "expectedLines": (False, r"\d+")},
    ),
    "responseProcessing": (f"{RULE}*", {}),
    "responseCondition": ("responseIf (responseElseIf )*(responseElse )?", {}),
    "responseIf": (f"{EXPRESSION}{RULE}*", {}),
    "responseElse": (f"{RULE}*", {}),
    "match": (EXPRESSION * 2, {}),
    "variable": ("", {"identifier": (True, IDENTIFIER)}),
    "correct": ("", {"identifier": (True, IDENTIFIER)}),
    "baseValue": ("", {"baseType": (True, "identifier|boolean|integer|float|string")}),
    "setOutcomeValue": (EXPRESSION, {"identifier": (True, IDENTIFIER)}),
    "modalFeedback": (
        f"{STATIC}*",
        {"outcomeIdentifier": (True, IDENTIFIER), "identifier": (True, IDENTIFIER), "showHide": (True, "show|hide")},
    ),
}
#: The elements of a manifest, each with the elements that it contains and with its attributes.
MANIFEST = {
    "manifest": ("(metadata )?organizations resources (manifest )*", {"identifier": (True, IDENTIFIER)}),
    "metadata": ("(schema )?(schemaversion )?", {}),
    "schema": ("", {}),
    "schemaversion": ("", {}),
    "organizations": ("(organization )*", {}),
    "resources": ("(resource )*", {}),
    "resource": (
        "(metadata )?(file )*(dependency )*",
        {"identifier": (True, IDENTIFIER), "type": (True, ".+"), "href": (False, ".+")},
    ),
    "file": ("(metadata )?", {"href": (True, ".+")}),
}
WITH_TEXT = {"p", "strong", "em", "a", "li", "pre", "code", "value", "baseValue", "schema", "schemaversion"}


def qti_faults(root: ET.Element, namespace: str) -> Iterator[str]:
    """Yield the faults of an item or a manifest.

    Args:
        root: the element that the file contains.
        namespace: the namespace of all its elements.
    """
    rules = ITEM if _name(root) == "assessmentItem" else MANIFEST
    for element in root.iter():
        name = _name(element)
        if element.tag != f"{{{namespace}}}{name}" or name not in rules:
            yield f"{element.tag} is no element of this format"
            continue
        children, attributes = rules[name]
        if not re.fullmatch(children, "".join(f"{_name(child)} " for child in element)):
            yield f"{name} has the children {[_name(child) for child in element]}"
        yield from (
            f"{name} has no {key}" for key, (needed, _) in attributes.items() if needed and element.get(key) is None
        )
        for key, value in element.items():
            if key not in attributes or not re.fullmatch(attributes[key][1], value):
                yield f"{name} has {key}={value!r}"
        texts = [element.text, *(child.tail for child in element)]
        if name not in WITH_TEXT and any(text and text.strip() for text in texts):
            yield f"{name} has text"
    if rules is ITEM:
        yield from _faults_of_variables(root)


def _faults_of_variables(item: ET.Element) -> Iterator[str]:
    """Yield declarations, choices, feedback and rules that do not fit each other."""
    every = {name: [each for each in item.iter() if _name(each) == name] for name in ITEM}
    responses = {each.get("identifier"): each for each in every["responseDeclaration"]}
    outcomes = {each.get("identifier"): each for each in every["outcomeDeclaration"]}
    types = {name: each.get("baseType") for name, each in (responses | outcomes).items()}
    if len(types) < len(every["responseDeclaration"]) + len(every["outcomeDeclaration"]):
        yield "a variable is declared twice"
    for interaction in every["choiceInteraction"]:
        declared = responses.get(interaction.get("responseIdentifier"))
        choices = [each.get("identifier") for each in interaction if _name(each) == "simpleChoice"]
        if declared is None or declared.get("baseType") != "identifier":
            yield "a choice has no response of the type identifier"
        elif correct := [
            value.text for value in declared.iter() if _name(value) == "value" and value.text not in choices
        ]:
            yield f"the correct response {correct} is no choice"
        if len(choices) != len(set(choices)):
            yield f"two choices have one identifier: {choices}"
        feedback = [each.get("identifier") for each in every["modalFeedback"]]
        if sorted(feedback) != sorted(choices):
            yield f"the choices {choices} have the feedback {feedback}"
    for interaction in every["extendedTextInteraction"]:
        if types.get(interaction.get("responseIdentifier")) != "string":
            yield "a free answer has no response of the type string"
    for shown in every["modalFeedback"]:
        if shown.get("outcomeIdentifier") not in outcomes:
            yield f"feedback asks for the outcome {shown.get('outcomeIdentifier')}"
    for read in (*every["variable"], *every["correct"]):
        if read.get("identifier") not in types:
            yield f"a rule reads {read.get('identifier')}"
    for rule in every["setOutcomeValue"]:
        value = rule[0]
        given = value.get("baseType") if _name(value) == "baseValue" else types.get(value.get("identifier"))
        if rule.get("identifier") not in outcomes or types[rule.get("identifier")] != given:
            yield f"a rule sets {rule.get('identifier')} to a value of the type {given}"


MOODLE_TEXT_FORMATS = {"html", "moodle_auto_format", "plain_text", "markdown"}
MOODLE_BOOLEANS = {"true", "false", "1", "0"}
MOODLE_NUMBERING = {"abc", "ABCD", "123", "iii", "IIII", "none"}
MOODLE_RESPONSES = {"editor", "editorfilepicker", "plain", "monospaced", "noinline"}
LONGEST_IDNUMBER, LONGEST_NAME = 100, 255  # columns of Moodle's table of questions


def moodle_faults(quiz: ET.Element) -> Iterator[str]:
    """Yield the reasons for which Moodle would refuse or change a question of a file."""
    if quiz.tag != "quiz":
        yield f"the file contains <{quiz.tag}>, not <quiz>"
    category, known = None, set()
    for question in quiz:
        kind = question.get("type")
        if question.tag != "question" or kind not in ("category", "multichoice", "essay"):
            yield f"<{question.tag} type={kind!r}> is no question"
        elif kind == "category":
            category = question.findtext("category/text")
            if not category or not category.startswith("$course$/top/"):
                yield f"a category is {category!r}"
        else:
            key = (category, question.findtext("idnumber"))
            if category is None or key in known or not 0 < len(key[1] or "") <= LONGEST_IDNUMBER:
                yield f"the id of a question is {key}"
            known.add(key)
            yield from (f"{key[1]}: {fault}" for fault in _faults_of_question(question, kind))


def _faults_of_question(question: ET.Element, kind: str) -> Iterator[str]:
    name = question.findtext("name/text") or ""
    if not 0 < len(name) <= LONGEST_NAME or name != " ".join(name.split()):
        yield f"the name is {name!r}"
    for text in question.iter():
        if text.get("format", "html") not in MOODLE_TEXT_FORMATS:
            yield f"{text.tag} has the format {text.get('format')!r}"
        elif text.get("format") == "html" and text.find("text") is not None:
            try:
                ET.fromstring(f"<div>{text.findtext('text')}</div>")
            except ET.ParseError as error:
                yield f"the HTML of {text.tag}: {error}"
    if not question.findtext("questiontext/text"):
        yield "no text"
    yield from _faults_of_files(question)
    for number, least, most in (("defaultgrade", 0, 1000), ("penalty", 0, 1)):
        if not least <= float(question.findtext(number) or -1) <= most:
            yield f"{number} is {question.findtext(number)!r}"
    if kind == "multichoice":
        for flag in ("single", "shuffleanswers"):
            if question.findtext(flag) not in MOODLE_BOOLEANS:
                yield f"{flag} is {question.findtext(flag)!r}"
        if question.findtext("answernumbering") not in MOODLE_NUMBERING:
            yield f"answernumbering is {question.findtext('answernumbering')!r}"
        fractions = [float(answer.get("fraction", 0)) for answer in question.findall("answer")]
        if len(fractions) < 2 or max(fractions) != 100 or fractions.count(100) != 1:
            yield f"the fractions of the answers are {fractions}"
        if not all(
            answer.findtext("text") and answer.findtext("feedback/text") for answer in question.findall("answer")
        ):
            yield "an answer lacks its text or its feedback"
    else:
        if question.findtext("responseformat") not in MOODLE_RESPONSES:
            yield f"responseformat is {question.findtext('responseformat')!r}"
        for number in ("responserequired", "responsefieldlines", "attachments", "attachmentsrequired"):
            if not (question.findtext(number) or "").isdecimal():
                yield f"{number} is {question.findtext(number)!r}"
        if not question.findtext("responsetemplate/text") or not question.findtext("graderinfo/text"):
            yield "no text to begin with, or no note for the grader"


def _faults_of_files(question: ET.Element) -> Iterator[str]:
    """Yield the pictures of a question's text that lack their file, and the files that Moodle would not store."""
    asked = question.findtext("questiontext/text") or ""
    shown = re.findall(r'<img [^>]*src="([^"]*)"', asked)
    files = question.findall("questiontext/file")
    if sorted(shown) != sorted(f"@@PLUGINFILE@@/{file.get('name')}" for file in files):
        yield f"the pictures {shown} have the files {[file.get('name') for file in files]}"
    if len(re.findall(r'<img [^>]*alt="[^"]+"', asked)) != len(shown):
        yield "a picture has no alternative text"
    for file in files:
        if file.get("path") != "/" or file.get("encoding") != "base64":
            yield f"a file has the path {file.get('path')!r} and the encoding {file.get('encoding')!r}"
        try:
            base64.b64decode(file.text or "", validate=True)
        except ValueError as error:
            yield f"a file is not base64: {error}"
    if len(question.findall(".//file")) != len(files):
        yield "a file belongs to another text than the question's"


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]
