"""Test the key step, which a stage shows first: the recorder or the author chooses it."""

from __future__ import annotations

import pytest

from memory_stage import api as stage
from memory_stage.trace.validation import problems

SAVED = "x = mt.to_tensor([1., 2.], stop_gradient=False)\na = x * 1\ny = a * a\na.add_(1)\ny.backward()"

TWICE = "x = mt.to_tensor([1., 2.], stop_gradient=False)\na = x * 1\ny = a * a\na.add_(1)\nz = a * a\na.add_(1)\n"

UNNOTICED = (
    "w = mt.to_tensor([1., 2.], stop_gradient=False)\na = w * 1\nn = a.detach().numpy(share=True)\n"
    "y = (a * a).sum()\nn[0] = 7\nb = mt.ones([2])\nb.add_(1)\ny.backward()"
)


def key_of(program: str) -> int:
    """Return the line of the key step."""
    (variant,) = stage.record(program).data["variants"]
    return variant["steps"][variant["key"]]["line"]


@pytest.mark.parametrize(
    ("program", "line"),
    [
        (SAVED, 4),  # the write that makes a saved tensor stale, before backward raises
        (TWICE + "z.backward()", 6),  # the write that makes backward raise, not the first write
        (TWICE + "y.backward()", 4),
        (TWICE, 4),  # the program calls no backward
        (UNNOTICED, 5),  # the unversioned write, not the write after it
        # the first write that changes another name's values
        ("x = mt.ones([2])\nx.add_(1)\nv = x[0:1]\nv.zero_()\nx.add_(1)", 4),
        # no write changes another name's values
        ("x = mt.ones([4])\na = x[0:2]\nb = x[2:4]\ndel x\na.zero_()\nb.zero_()\nc = b", 6),
        ("x = mt.ones([2], dtype='float32')\nx.stop_gradient = False\nx.add_(1)", 3),  # the refused write
        ("x = mt.ones([2])\ny = x + 1\ndel x", 2),  # without a write: the last step with the most names
    ],
)
def test_the_recorder_picks_the_most_informative_step(program, line):
    assert key_of(program) == line


def test_the_most_informative_variant_opens_unless_the_author_names_another():
    programs = {"apart": "x = mt.ones([2])\ny = x + 1", "shared": "x = mt.ones([2])\ny = x\ny.add_(1)"}
    data = stage.compare(programs).data
    assert (data["opens"], data["variants"][1]["key"]) == (data["variants"][1]["id"], 2)
    named = stage.compare(programs, key=("apart", 1)).data
    assert (named["opens"], named["variants"][0]["key"]) == (named["variants"][0]["id"], 0)
    assert list(problems(named)) == []


def test_an_unknown_step_or_variant_is_refused():
    with pytest.raises(ValueError, match="from 1 to 1, not 2"):
        stage.record("x = mt.ones([2])", key=2)
    with pytest.raises(ValueError, match="'c', but the variants are 'a', 'b'"):
        stage.compare({"a": "x = 1", "b": "x = 2"}, key=("c", 1))


def test_an_unversioned_write_over_saved_cells_is_marked_once_if_backward_cannot_notice_it():
    def marks(program: str) -> list[tuple[int, bool]]:
        (variant,) = (data := stage.record(program).data)["variants"]
        assert list(problems(data)) == []
        steps = [(step["line"], event) for step in variant["steps"] for event in step["events"]]
        return [(line, event.get("unnoticed", False)) for line, event in steps if event["do"] == "stale"]

    assert marks(UNNOTICED) == [(5, True)]
    assert marks(UNNOTICED.replace("n[0] = 7", "n[0] = 7\nn[0] = 8")) == [(5, True)]
    assert marks(UNNOTICED.replace("n[0] = 7", "a.add_(1)").replace("y.backward()", "")) == [(5, False)]
    assert marks(UNNOTICED.replace("a * a", "a + a")) == []
    checked = UNNOTICED.replace("y = (a * a).sum()", "with mt.check_foreign_writes():\n    y = (a * a).sum()")
    assert marks(checked.replace("y.backward()", "")) == []
