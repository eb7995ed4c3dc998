"""Tables for the appendix on the articles: each claim with its verdict, the facts and the proof.

``facts/article-claims.json`` contains the claims, each with its proofs. A proof is a program of minitensor that runs
when the table is made, or a record: an answer of a framework, the output of a program in PyTorch, or the times of a
benchmark. The build fails if the result of a program that runs differs from the one in the file.
"""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import minitensor as mt
from book_kit.data.library_names import NAMES
from book_kit.tables.error_tables import code, restored_settings, shortened
from book_kit.tables.reference_tables import markdown, rounded
from book_kit.tables.table_words import comma_list, said, semicolon_list, translated
from memory_stage.messages import Text, capitalized, message

#: Maps the name of an article in the claims to its key in ``references.bib`` and to the book's title for it.
ARTICLES: dict[str, tuple[str, Text]] = {
    "guide": ("paddle-guide", message("Paddle's community guide")),
    "draft": ("paddle-draft", message("The draft for Paddle's community")),
    "review": ("paddle-draft", message("The review of the draft")),
    "copies": ("copy-article", message("The article on PyTorch")),
}
VERDICTS = {"right": message("right"), "right within limits": message("right within limits"), "wrong": message("wrong")}
HEADS = (message("It says"), message("Verdict"), message("The facts"), message("Proof"), message("Explained in"))
LONGEST = 110  # the largest number of characters of an error
#: Maps a value in the records to its wording in a table.
ASKED = {
    "error": message("the error"),
    "seen": message("*`y` changes with `x`*"),
    "address(y) == where": message("*`y` keeps its address*"),
}


def claims(root: Path) -> list[dict[str, Any]]:
    """Return all claims, in the order of the articles.

    A claim is a dict with ``article``, ``verdict``, ``claim``, ``so`` (the facts), ``proofs``, and the ``page`` and the
    ``place`` in it where the book explains the facts.
    """
    found: list[dict[str, Any]] = json.loads((root / "facts" / "article-claims.json").read_text(encoding="utf-8"))
    return found


def table(root: Path, article: str) -> str:
    """Return the claims of one article as a Markdown table. Its links work in a page of the folder ``chapters``."""
    lines = ["| " + " | ".join(map(said, HEADS)) + " |", "|---" * len(HEADS) + "|"]
    for claim in (claim for claim in claims(root) if claim["article"] == article):
        proofs = "<br>".join(_proof(root, proof) for proof in claim["proofs"])
        page = claim["page"].removeprefix("chapters/")
        where = f"[{said(_title(page))}]({page}.html#{claim['place']})"
        claimed, so = translated(claim["claim"]), translated(claim["so"])
        lines.append(f"| {claimed} | {said(VERDICTS[claim['verdict']])} | {so} | {proofs} | {where} |")
    return "\n".join(lines)


def counts_table(root: Path) -> str:
    """Return a table with the number of claims of each article, by verdict."""
    heads = (message("Text"), *(capitalized(verdict) for verdict in VERDICTS.values()))
    lines = ((ARTICLES[article][1], *map(str, found.values())) for article, found in counts(root).items())
    return markdown(heads, lines)


def counts(root: Path) -> dict[str, dict[str, int]]:
    """Return the number of claims of each article, by verdict."""
    found = {article: dict.fromkeys(VERDICTS, 0) for article in ARTICLES}
    for claim in claims(root):
        found[claim["article"]][claim["verdict"]] += 1
    return found


def shown(root: Path, proof: dict[str, Any]) -> str:
    """Run the program of a proof and return its result as text. The policy and the device are restored afterwards.

    The program's global names are ``mt``, and ``facts``, which is the folder of records.
    """
    names: dict[str, Any] = {"mt": mt, "facts": root / "facts"}
    gc.collect()  # otherwise objects of an earlier error could be freed while the program counts bytes
    with restored_settings():
        exec(proof["run"], names)
        return repr(eval(proof["shows"], names))


def answers(root: Path, proof: dict[str, Any]) -> dict[str, str]:
    """Return the recorded answers to the question of a proof as text, keyed by library and version.

    Raises:
        KeyError: if the record does not contain the question or the value.
    """
    records = json.loads((root / proof["recorded"]).read_text(encoding="utf-8"))
    found = {}
    for key in proof["of"]:
        answer = records[key]["answers"][proof["question"]]
        if proof["ask"] == "error":
            value = shortened(" ".join(answer.get("error", "no error").split()), LONGEST)
        else:
            value = repr(rounded(answer["values"][proof["ask"]]))
        found[f"{NAMES[records[key]['library']]} {records[key]['version']}"] = value
    return found


# ---------- a proof in a cell ----------


def _proof(root: Path, proof: dict[str, Any]) -> str:
    if "run" in proof:
        gives = shown(root, proof)
        if gives != proof["gives"]:
            raise ValueError(f"this program of facts/article-claims.json gives {gives}:\n{proof['run']}")
        lines = proof["run"].splitlines()
        program = code("\n".join([*lines, proof["shows"]]))
        return said(message("{program}<br>gives {result}", program=program, result=code(gives)))
    if "rows" in proof:
        return semicolon_list(_times(root, proof))
    if "program" in proof:
        recorded = json.loads((root / proof["recorded"]).read_text(encoding="utf-8"))
        entry = recorded["programs"][proof["program"]]
        program, printed = code(entry["program"].strip()), code(entry["printed"].strip())
        return said(message("{program}<br>prints, in PyTorch 2.13.0,<br>{printed}", program=program, printed=printed))
    by_value: dict[str, list[str]] = {}
    for library, value in answers(root, proof).items():
        by_value.setdefault(value, []).append(library)
    found = semicolon_list(
        message("{value} in {libraries}", value=code(value), libraries=comma_list(libraries))
        for value, libraries in by_value.items()
    )
    asked = ASKED.get(proof["ask"]) or code(proof["ask"])
    question = translated(proof["question"].replace("`", ""))
    return said(message("recorded, *{question}*: {asked} is {found}", question=question, asked=asked, found=found))


def _times(root: Path, proof: dict[str, Any]) -> list[Text]:
    """For each library, return a text with the ratio of the library's times in two rows of a benchmark."""
    record = json.loads((root / proof["recorded"]).read_text(encoding="utf-8"))
    rows = {(row["name"], row["over"]): row["theirs"]["median"] for row in record["subjects"]["article"]["rows"]}
    first, second = proof["rows"]
    return [
        message(
            "measured, {library}: {times} times as long {which}",
            library=NAMES[library],
            times=f"{rows[first, library] / rows[second, library]:.1f}",
            which=translated(first),
        )
        for library in proof["of"]
    ]


def _title(page: str) -> Text:
    if page[:2].isdigit():
        return message("chapter\u00a0{number}", number=int(page[:2]))
    return message("appendix {letter}", letter=page[0])
