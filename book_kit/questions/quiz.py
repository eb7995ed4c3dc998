"""Questions that ask for a prediction: the reader chooses an answer before the book shows the right one.

* The cell computes the answer. It has to equal one of the options character for character, or else the build of the
  book fails.
* Every option has an explanation: why it is right, or the mistake in it. A reader who chose a wrong option reads the
  explanation and may try again before the answer is shown.
* A question can name a line of a stage on the page. When the line has run, the stage proves or refutes the guess.
* A question without a stage can have a program. A question bank and a hand-out draw the memory of this program next to
  the question.
* Answers are stored in the reader's browser, where the reader can delete them.
* A question works without JavaScript, by keyboard, with a screen reader and in print. It needs neither network nor
  kernel.

Existing tools lack some of this. jupyterquiz writes its question into an empty element by script, so a page without
JavaScript shows nothing. It submits an answer when a reader presses the first arrow key, and a screen reader gets no
verdict. The Sphinx directives (sphinx-exercise, teachbooks-questions, sphinx-yaq) work only in the built page and not
in JupyterLab, and authors write their answers by hand.

The cell of a question shows its output and hides its input. A tag does this in the book, and metadata do it in
JupyterLab. The last expression of the cell is the call of `predict`, so a cell asks one question::

    ```{code-cell} ipython3
    ---
    tags: [remove-input]
    jupyter:
      source_hidden: true
    ---
    x = mt.ones([3])
    y = x
    y.add_(mt.ones([3]))
    predict(
        "`y = x`, then `y.add_(mt.ones([3]))`. What does `x` hold?",
        options={
            "`[1.0, 1.0, 1.0]`": "That would need a copy, and `y = x` copies nothing.",
            "`[2.0, 2.0, 2.0]`": "`y = x` makes a second name for the same tensor. A write through one is seen through "
            "the other.",
        },
        answer=str(x.tolist()),
        stage="Four ways to add one",
        variant="y.add_(1.0)",
        line=3,
    )
    ```
"""

from __future__ import annotations

import hashlib
import html
import json
from collections.abc import Mapping
from dataclasses import dataclass

from memory_stage.messages import ENGLISH, default_language, message, said
from memory_stage.web.embed import page_assets, prose


@dataclass(frozen=True)
class Proof:
    """The line of a stage that shows the answer. If ``stage`` is None, the stage is the next one on the page."""

    line: int
    stage: str | None = None
    variant: str | None = None

    def __str__(self) -> str:
        where = message("the next stage")
        if self.stage:
            where = message("the stage “{title}”", title=self.stage)
        text = message("See line {line} of {stage}.", line=self.line, stage=where)
        if self.variant:
            text = message("See line {line} of {stage}, {variant}.", line=self.line, stage=where, variant=self.variant)
        return said(text)

    def _attributes(self) -> str:
        named = {"stage": self.stage, "variant": self.variant, "line": str(self.line)}
        return "".join(f' data-{name}="{html.escape(text)}"' for name, text in named.items() if text)


@dataclass(frozen=True)
class Prediction:
    """A question with its options, as `predict` returns it."""

    question: str
    options: Mapping[str, str]  # maps an option to its explanation
    right: int  # the index of the right option
    proof: Proof | None = None
    picture: str = ""  # a program that makes the tensors of the question, without the lines that are asked about

    @property
    def answer(self) -> str:
        """The right option."""
        return list(self.options)[self.right]

    @property
    def why(self) -> str:
        """The explanation of the right option."""
        return self.options[self.answer]

    @property
    def name(self) -> str:
        """The key for storing a reader's answer, a hash of the question and its options."""
        text = "\0".join([self.question, *self.options])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def _wrong(self) -> list[tuple[str, str]]:
        return [(option, text) for option, text in self.options.items() if option != self.answer]

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {
            "text/plain": self._as_text(),
            "text/html": page_assets("quiz.css", "quiz.js", package="book_kit.web") + self._as_html(),
        }

    def _as_text(self) -> str:
        options = "\n".join("  ( ) " + option.replace("\n", "\n      ") for option in self.options)
        asked = said(message("Predict: {question}", question=self.question))
        answer = said(message("Answer: {answer}", answer=self.answer))
        others = (said(message("Not {option}: {reason}", option=each, reason=text)) for each, text in self._wrong())
        proof = [str(self.proof)] if self.proof else []
        return "\n".join([asked, options, "", answer, self.why, "\n".join(others), *proof])

    def _as_html(self) -> str:
        """Return the question with a list of options and their folded explanations. `quiz.js` turns it into a form."""
        options = "".join(f"<li>{prose(option)}</li>" for option in self.options)
        others = "".join(
            f'<dt>{prose(option)}</dt><dd data-option="{index}">{prose(text)}</dd>'
            for index, (option, text) in enumerate(self.options.items())
            if index != self.right
        )
        heading, summary = said(message("Predict first")), said(message("Answer"))
        proof = f'<p class="mt-proof"{self.proof._attributes()}>{prose(str(self.proof))}</p>\n' if self.proof else ""
        picture = f' data-picture="{html.escape(self.picture)}"' if self.picture else ""
        return (
            # This class keeps a page's MathJax from reading dollar signs as mathematics.
            f'<predict-first class="mt-note mathjax_ignore" data-right="{self.right}" data-name="{self.name}"'
            f"{picture}{_words()}>\n"
            f'<p class="mt-kind">{heading}</p>\n'
            f'<p class="mt-question">{prose(self.question)}</p>\n'
            f'<ul class="mt-options">{options}</ul>\n'
            f"<details><summary data-lm-suppress-shortcuts>{summary}</summary>\n"
            f'<p class="mt-answer">{prose(self.answer)}</p>\n'
            f'<p class="mt-why">{prose(self.why)}</p>\n'
            f'<dl class="mt-others">{others}</dl>\n'
            f"{proof}</details>\n"
            "</predict-first>"
        )


#: The texts of ``quiz.js``, which are translated here.
_OF_SCRIPT = (
    message("Check"),
    message("Choose an answer first."),
    message("Right."),
    message("Not this one."),
    message("Try again, or open the answer."),
    message("✓ right"),
    message("✗ not this one"),
    message("Step the stage to line {line}", line="{line}"),
    message("Your answer is kept in this browser."),
    message("Forget it"),
    message("Forget all answers"),
)


def _words() -> str:
    """Return an attribute with the translated texts of the script; "" in English, because the script is English."""
    if default_language() == ENGLISH:
        return ""
    words = {text.text: said(text) for text in _OF_SCRIPT}
    return f' data-words="{html.escape(json.dumps(words, ensure_ascii=False))}"'


def predict(
    question: str,
    options: Mapping[str, str],
    answer: str,
    *,
    stage: str | None = None,
    variant: str | None = None,
    line: int | None = None,
    picture: str = "",
) -> Prediction:
    """Return a question with one right option. Call this in the last line of a cell.

    In `question` and `options`, a pair of backticks marks code, which may have several lines. There is no other markup.
    `options` maps two or more options, in the order in which they are shown, to explanations: why the option is right,
    or the mistake in it. `answer` is the text of the right option. The cell itself should compute it, for example as
    `str(x.tolist())`. If an option is only code, the answer is compared with the option without its backticks.

    `line` is a line of a stage: when this line has run, the stage proves or refutes the guess. `stage` is the title of
    the stage, by default the next one on the page. `variant` is the label of one of the stage's programs.

    `picture` is for a question without a stage. It is a program that creates the tensors of the question. A question
    bank and a hand-out draw the memory after the last line of this program, so the program must not contain the lines
    that the question asks about.

    Raises TypeError for an answer that is not a string (an index would be wrong once options are reordered) and for
    options without explanations. Raises ValueError for an answer that is none of the options, for repeated options, for
    an empty text, for a stage or a variant without a line, and for a picture together with a line.
    """
    if not isinstance(options, Mapping) or not all(isinstance(text, str) for pair in options.items() for text in pair):
        raise TypeError(f"options must map each option to its text, not {options!r}")
    if not isinstance(answer, str):
        raise TypeError(
            f"answer must be the text of the right option, not {answer!r} ({type(answer).__name__}): "
            f"str() or repr() makes a value the text of an option"
        )
    if not question.strip():
        raise ValueError("a question needs a text")
    if missing := [option for option, text in options.items() if not (option.strip() and text.strip())]:
        raise ValueError(
            f"the option {missing[0]!r} has no text: give the reason that it is right, or the mistake in it"
        )
    bare = [_without_backticks(option) for option in options]
    if len(bare) < 2 or len(set(bare)) < len(bare):
        raise ValueError(f"options must hold two or more different strings, not {list(options)!r}")
    if _without_backticks(answer) not in bare:
        raise ValueError(
            f"the answer {answer!r} is none of the options {list(options)!r}: correct the options, or the "
            f"code that gave the answer"
        )
    if line is None and (stage or variant):
        raise ValueError(f"the stage {stage or variant!r} is named without a line in it: add line=...")
    if line is not None and picture:
        raise ValueError("a question with a line of a stage gets its picture from the stage: remove picture=...")
    proof = None if line is None else Proof(line, stage, variant)
    return Prediction(question, dict(options), bare.index(_without_backticks(answer)), proof, picture)


def _without_backticks(text: str) -> str:
    """If a text is a single code span, return the code in it. Return any other text unchanged."""
    code = text[1:-1]
    return code if text == f"`{code}`" and "`" not in code else text
