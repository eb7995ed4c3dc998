"""The scripts of a page without comments and indentation mean what they meant."""

from __future__ import annotations

import re

import pytest
from py_mini_racer import MiniRacer

from memory_stage.web import element, picture
from memory_stage.web.embed import asset
from memory_stage.web.minify import lighten
from memory_stage.web.v8 import Script
from tests.stage import pages

# Each is an expression whose value depends on what a careless reader of JavaScript would take away or join.
TRICKY = [
    "'// no comment' + \"/* none */\"",
    "'it\\'s /* quoted */' + \"a \\\" // b\"",
    "`line one\n   line   two // kept\n   ${ 1 /* gone */ + /* gone */ 2 }   /* kept */`",
    "`a ${ [1, 2].map(x => { return `<${ x }>  {` }).join(' } ') } b`",
    "`$${'{'} \\` \\${ 1 } ${ { a: `}` }.a }`",
    "`${ `${ `deep   // text` }` }`",
    "'a/*b*/c'.replace(/[/*]+/g, '  //  ').split(/\\/\\/ /)",
    "'x//y'.split(/[/]/).length + 8 / 2 / 2",
    "(x => x /* twice */ / 2 / 2)(8)",
    "[1, 2] [1] + 4 / 2 // the second\n",
    "(() => { return /a b/.test('a b') })()",
    "(() => { let a = 1; return a + +a - -a + a++ + ++a })()",
    "(() => { let a = 4\n  const b = a\n  /* a line\n     break */ ; return [a, b]\n})()",
    "(() => {\n  let s = ''\n  for (const c of 'ab') s += c // no semicolon\n  return s\n})()",
    "(() => { if (1) return 'if'; else return 'else' })()",
    "(() => { const o = { in: 1, of: 2 }; return 'in' in o && typeof o.of })()",
    "true ? .5 : 1",
    "(null ?? 0) + (undefined?.x ?? 7)",
    "'a'/* joined */+ /* twice */'b'",
]


@pytest.fixture(scope="module")
def v8():
    context = MiniRacer()
    yield context
    context.close()


@pytest.mark.parametrize("source", TRICKY)
def test_an_expression_keeps_its_value(v8, source):
    light = lighten(f"JSON.stringify(\n    {source}\n)")
    assert v8.eval(light) == v8.eval(f"JSON.stringify(\n{source}\n)"), light
    assert "gone" not in light and "twice" not in light


def test_comments_and_indentation_go_and_so_do_lines_that_have_ended():
    source = "/* about\n   it */\nconst a = 1; // one\n\n    // alone\n    const b = `\n    x`;  /* two */\n"
    assert lighten(source) == "const a=1;const b=`\n    x`;\n"
    assert (
        lighten("let a = 1\nlet b = [\n  2,\n  3\n]\n") == "let a=1\nlet b=[\n2,3\n]\n"
    )  # where no sign tells, a line stays one


def test_it_has_nothing_more_to_take_the_second_time():
    light = lighten(asset("stage.js"))
    assert lighten(light) == light
    assert len(light) < 0.85 * len(asset("stage.js"))
    assert not re.search(r"^\s*/[/*]", light, flags=re.MULTILINE)


@pytest.mark.parametrize("source", ["a = 'open", "a = `open", "/* open", "`${ a } open"])
def test_what_does_not_end_is_refused_and_its_line_is_told(source):
    with pytest.raises(ValueError, match="line 3 of the script"):
        lighten(f"\n\n{source}")


def test_the_light_script_draws_what_the_written_one_draws():
    """Every part that draws, as it is written, beside the script that pages load."""
    parts = [asset(f"stage-{part}.js") for part in picture._PARTS]
    written = "const whole = (() => {\n" + "\n".join(parts) + "\nreturn { picture, chart, answer, ways };\n})();"
    whole = Script(written, "whole")
    for name in pages.NAMES:
        trace = pages.trace(name)
        options = {"variant": 0, "step": len(trace["variants"][0]["steps"]) // 2, "width": 700}
        for function in ("picture", "chart", "ways"):
            assert whole.call(function, trace, options) == picture._v8().call(function, trace, options), name


def test_the_figures_take_the_same_way():
    assert "/**" not in element.script_source()
    assert element.script_source().startswith("/* The figures of the book In Place. Licence: Apache-2.0. */\n")
