"""Test the validation of traces: it finds planted faults, and agrees with a full validator of JSON Schema."""

from __future__ import annotations

import copy
import json

import jsonschema
import pytest

from memory_stage.trace.validation import TraceError, problems, schema, validate
from tests.support.web import pages

REAL = jsonschema.Draft202012Validator(schema())


def test_the_schema_is_a_valid_json_schema():
    jsonschema.Draft202012Validator.check_schema(schema())


def test_every_object_of_the_schema_is_closed():
    def objects(rule):
        if isinstance(rule, dict):
            if rule.get("type") == "object":
                yield rule
            for part in rule.values():
                yield from objects(part)
        elif isinstance(rule, list):
            for part in rule:
                yield from objects(part)

    found = list(objects(schema()))
    assert len(found) > 20
    assert all("additionalProperties" in rule for rule in found)


@pytest.mark.parametrize("name", pages.NAMES)
def test_an_example_is_well_formed(name):
    trace = pages.trace(name)
    assert [error.message for error in REAL.iter_errors(trace)] == []
    assert list(problems(trace)) == []
    validate(trace)


def spoiled(change):
    trace = copy.deepcopy(pages.trace("stale"))
    change(trace, trace["variants"][0]["steps"])
    return trace


# Faults to plant in a valid trace: a name, and a function that changes the trace and its first variant's steps.
OF_SHAPE = {
    "another schema": lambda t, s: t.update(schema="stage/2"),
    "no title": lambda t, s: t.pop("title"),
    "a title that is a number": lambda t, s: t.update(title=7),
    "something unknown on top": lambda t, s: t.update(hue=3),
    "something unknown in a step": lambda t, s: s[0].update(hue=3),
    "something unknown in an event": lambda t, s: s[0]["events"][1].update(hue=3),
    "no variants": lambda t, s: t.update(variants=[]),
    "no steps": lambda t, s: t["variants"][0].update(steps=[]),
    "line 0": lambda t, s: s[0].update(line=0),
    "a line that is true": lambda t, s: s[0].update(line=True),
    "bytes below zero": lambda t, s: s[0].update(allocated=-1),
    "bytes that are not an integer": lambda t, s: s[0].update(allocated="12"),
    "a phase nobody knows": lambda t, s: s[0].update(phase="sideways"),
    "an event nobody knows": lambda t, s: s[0]["events"].append({"do": "paint"}),
    "an event that does nothing": lambda t, s: s[0]["events"].append({}),
    "a cell that is a number": lambda t, s: s[0]["events"][0]["values"].update({"0": 1}),
    "an index that is not a number": lambda t, s: s[0]["events"][0]["values"].update({"zero": "1"}),
    "an index with a leading zero": lambda t, s: s[0]["events"][0]["values"].update({"01": "1"}),
    "an empty id": lambda t, s: s[0]["events"][1].update(id=""),
    "an id of 65 characters": lambda t, s: s[0]["events"][1].update(id="x" * 65),
    "a range of three": lambda t, s: s[3]["events"][0].update(ranges=[[0, 1, 2]]),
    "no ranges": lambda t, s: s[3]["events"][0].update(ranges=[]),
    "a shape that is text": lambda t, s: s[0]["events"][1].update(shape="[3]"),
    "stale without saying why": lambda t, s: s[3]["events"][1].pop("lost"),
    "stale, but nothing is": lambda t, s: s[3]["events"][1].update(ids=[]),
    "a storage that is borrowed, but not": lambda t, s: s[0]["events"][0].update(borrowed=False),
    "an array of a library nobody knows": lambda t, s: s[0]["events"][1].update(outside="abacus"),
    "a write that is unversioned, but not": lambda t, s: s[3]["events"][0].update(unversioned=False),
    "a loop without a pass": lambda t, s: s[0].update(passes=[[1]]),
    "pass 0": lambda t, s: s[0].update(passes=[[1, 0]]),
    "passes of no loop": lambda t, s: s[0].update(passes=[]),
    "a copy that is not true": lambda t, s: s[2]["events"][5].update(copy=False),
}
OF_SENSE = {
    "two variants of one id": lambda t, s: t["variants"][1].update(id="p26"),
    "a line after the end": lambda t, s: s[0].update(line=6, end=6),
    "a statement that ends before it begins": lambda t, s: s[3].update(end=1),
    "a peak below the bytes allocated": lambda t, s: s[0].update(peak=3),
    "a peak that falls": lambda t, s: s[5].update(peak=36),
    "a write to no storage": lambda t, s: s[3]["events"][0].update(storage="9"),
    "a write outside": lambda t, s: s[3]["events"][0]["cells"].update({"3": "1"}),
    "a range outside": lambda t, s: s[3]["events"][0].update(ranges=[[0, 3]]),
    "a write that leaves the version": lambda t, s: s[3]["events"][0].update(version=0),
    "an unversioned write that raises the version": lambda t, s: s[3]["events"][0].update(unversioned=True),
    "a loop after the end of the program": lambda t, s: s[0].update(passes=[[1, 1], [6, 1]]),
    "a state after one that is not there": lambda t, s: next(
        event for event in s[0]["events"] + s[1]["events"] if event["do"] == "state"
    ).update(after="q@0"),
    "a value outside": lambda t, s: s[0]["events"][0]["values"].update({"3": "1"}),
    "a tensor on no storage": lambda t, s: s[0]["events"][1].update(storage="9"),
    "a name of no tensor": lambda t, s: s[0]["events"][2].update(tensor="nobody"),
    "an id twice": lambda t, s: s[1]["events"][1].update(id="t1"),
    "strides for another shape": lambda t, s: s[0]["events"][1].update(strides=[1, 1]),
    "a node that reads nothing known": lambda t, s: s[1]["events"][4].update(ins=["q@0"]),
    "a name that was never there": lambda t, s: s[4]["events"].append({"do": "unname", "name": "q"}),
    "a storage freed twice": lambda t, s: s[4]["events"].extend([{"do": "free", "tensors": [], "storages": ["3"]}] * 2),
    "stale, but never saved": lambda t, s: s[3]["events"][1].update(ids=["s9"]),
    "a copy for nobody": lambda t, s: t["variants"][1]["steps"][3]["events"][1].update(id="s9"),
    "a copy of cells that are not there": lambda t, s: t["variants"][1]["steps"][3]["events"][1].update(
        ranges=[[0, 3]]
    ),
    "an error that is not the end": lambda t, s: s[5]["events"].append({"do": "flight", "bytes": 0}),
    "a run of no node": lambda t, s: s[5]["events"].insert(0, {"do": "run", "node": "n9"}),
}


@pytest.mark.parametrize("fault", OF_SHAPE)
def test_a_wrong_shape_is_found_by_both_validators(fault):
    trace = spoiled(OF_SHAPE[fault])
    assert not REAL.is_valid(trace)
    assert list(problems(trace))
    with pytest.raises(TraceError, match="trace"):
        validate(trace)


@pytest.mark.parametrize("fault", OF_SENSE)
def test_faults_that_the_schema_cannot_express_are_found(fault):
    trace = spoiled(OF_SENSE[fault])
    assert REAL.is_valid(trace), "planted one fault too many"
    assert list(problems(trace))


def test_foreign_writes_may_be_recorded():
    def change(trace, steps):
        steps[0].update(passes=[[1, 1], [2, 7]])
        storage, tensor = steps[0]["events"][:2]
        storage.update(borrowed=True)
        tensor.update(outside="numpy")
        write = steps[3]["events"][0]
        write.update(unversioned=True, version=write["version"] - 1)

    trace = spoiled(change)
    assert REAL.is_valid(trace) and list(problems(trace)) == []


@pytest.mark.parametrize("value", [None, 7, "trace", [], {}, {"schema": "stage/1"}])
def test_a_value_that_is_not_a_trace_is_refused(value):
    assert not REAL.is_valid(value)
    with pytest.raises(TraceError):
        validate(value)


def test_a_problem_names_its_place():
    trace = spoiled(OF_SHAPE["something unknown in an event"])
    (problem,) = problems(trace)
    assert problem == "trace.variants[0].steps[0].events[1] (tensor): 'hue' is not known here"


def test_examples_are_written_as_json_that_any_parser_reads():
    for name in pages.NAMES:
        text = (pages.FOLDER / f"{name}.json").read_text(encoding="utf-8")
        assert json.loads(text, parse_constant=pytest.fail)  # called for NaN and Infinity, which are not JSON
