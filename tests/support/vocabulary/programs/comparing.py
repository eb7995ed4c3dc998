"""Compare a program's output, error, line and warnings in minitensor with those in a framework."""

from __future__ import annotations

import re
from typing import Any

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:e[-+]?\d+)?(?![\w])")
#: The relative tolerance. float32 has about seven significant digits, and a training loop loses some of them.
RELATIVE = 1e-5


def differences(recorded: dict[str, Any], here: dict[str, Any]) -> dict[str, str]:
    """Return a text for each difference. Keys: "output", "error", "line", "words", "no warning", "one more warning"."""
    found = {}
    wanted, seen = recorded.get("out", ""), here.get("out", "")
    if not same_text(wanted, seen):
        found["output"] = first_difference(wanted, seen)
    kinds = [answer.get("error", "no error").partition(":")[0] for answer in (recorded, here)]
    if kinds[0] != kinds[1]:
        found["error"] = f"{first_line(recorded)} | here: {first_line(here)}"
    elif kinds[0] != "no error":
        if recorded.get("line") != here.get("line"):
            found["line"] = f"line {recorded.get('line')} raises | here: line {here.get('line')}"
        if not contains_error(recorded["error"], here["error"]):
            found["words"] = f"{first_line(recorded)} | here: {first_line(here)}"
    missing = [text for text in recorded.get("warnings", []) if not any(alike(text, own) for own in warned(here))]
    more = [own for own in warned(here) if not any(alike(text, own) for text in recorded.get("warnings", []))]
    if missing:
        found["no warning"] = missing[0][:160]
    if more:
        found["one more warning"] = more[0][:160]
    return found


def warned(answer: dict[str, Any]) -> list[str]:
    return answer.get("warnings", [])


def alike(recorded: str, here: str) -> bool:
    """True if two warnings have the same category and begin with the same words."""
    return recorded.splitlines()[0][:60] == here.splitlines()[0][:60]


def first_line(answer: dict[str, Any]) -> str:
    return answer.get("error", "no error").splitlines()[0][:200]


def contains_error(recorded: str, here: str) -> bool:
    """True if the error in minitensor contains the first sentence of the framework's error; it may contain more."""
    sentence = re.split(r"(?<=[.!])\s|\n|\[Hint", recorded.partition(": ")[2])[0].strip()
    return " ".join(sentence.split()) in " ".join(here.split())


def same_text(recorded: str, here: str) -> bool:
    """True if the texts are equal, except that numbers may differ as :func:`same_number` allows."""
    if recorded == here:
        return True
    parts = [NUMBER.split(" ".join(text.split())) for text in (recorded, here)]
    numbers = [NUMBER.findall(text) for text in (recorded, here)]
    if [part.split() for part in parts[0]] != [part.split() for part in parts[1]]:
        return False
    return all(same_number(*pair) for pair in zip(*numbers, strict=True))


def same_number(recorded: str, here: str) -> bool:
    """True if two printed numbers are equal integers, or floats that differ by at most one unit in the last printed
    place or by RELATIVE.
    """
    if recorded == here:
        return True
    if not all("." in number or "e" in number for number in (recorded, here)):
        return False
    wanted, seen = float(recorded), float(here)
    return abs(wanted - seen) <= max(1.01 * unit(recorded), RELATIVE * abs(wanted))


def unit(number: str) -> float:
    """Return one unit in the last printed place of a number; 0 if it has fewer than three decimals."""
    mantissa, _, exponent = number.partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals) if decimals >= 3 else 0.0


def first_difference(recorded: str, here: str) -> str:
    """Return the first line in which two texts differ, from both texts."""
    wanted, seen = recorded.splitlines(), here.splitlines()
    for number in range(max(len(wanted), len(seen))):
        pair = [lines[number] if number < len(lines) else "(nothing)" for lines in (wanted, seen)]
        if not same_text(*pair):
            return f"line {number + 1} of the output: {pair[0]!r} | here: {pair[1]!r}"
    return "only where lines end"
