"""Predict-first questions: the reader commits to an answer before the book shows it.

* A question whose answer the engine does not give does not build: the answer is computed in the same cell and
  has to be one of the options, word for word.
* It can be read without JavaScript, answered by keyboard, heard with a screen reader and printed; it asks no
  network and no kernel.

Why our own: jupyterquiz writes its question into an empty element by script, so that nothing is there without
JavaScript, judges at the first arrow key and tells a screen reader no verdict. The Sphinx directives
(sphinx-exercise, teachbooks-questions, sphinx-yaq) live on the built page only, not in JupyterLab, and their
answers are written by hand instead of computed.

The cell of a question shows its output and hides its input, in the book (the tag) and in JupyterLab (the
metadata). Its last expression is the call, so one cell asks one question::

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
        options=["`[1.0, 1.0, 1.0]`", "`[2.0, 2.0, 2.0]`"],
        answer=str(x.tolist()),
        why="`y = x` makes a second name for the same tensor. Writing through one is seen through the other.",
    )
    ```
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from minitensor.stage.embed import page_assets, prose


@dataclass(frozen=True)
class Prediction:
    """A question with its options; what a notebook shows for `predict(...)`."""

    question: str
    options: tuple[str, ...]
    right: int  # index of the right option
    why: str

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {
            "text/plain": self._as_text(),
            "text/html": page_assets("quiz.css", "quiz.js", package="minitensor.notebook") + self._as_html(),
        }

    def _as_text(self) -> str:
        options = "\n".join("  ( ) " + option.replace("\n", "\n      ") for option in self.options)
        return f"Predict: {self.question}\n{options}\n\nAnswer: {self.options[self.right]}\n{self.why}"

    def _as_html(self) -> str:
        """The question and a list, the answer folded away; `quiz.js` makes radio buttons of the list."""
        options = "".join(f"<li>{prose(option)}</li>" for option in self.options)
        return (
            # The class keeps a page's MathJax away from dollar signs.
            f'<predict-first class="mt-note mathjax_ignore" data-right="{self.right}">\n'
            f'<p class="mt-kind">Predict first</p>\n'
            f'<p class="mt-question">{prose(self.question)}</p>\n'
            f'<ul class="mt-options">{options}</ul>\n'
            "<details><summary data-lm-suppress-shortcuts>Answer</summary>\n"
            f'<p class="mt-answer">{prose(self.options[self.right])}</p>\n'
            f'<p class="mt-why">{prose(self.why)}</p></details>\n'
            "</predict-first>"
        )


def predict(question: str, options: Sequence[str], answer: str, why: str) -> Prediction:
    """A question with one right option, for the last line of a cell.

    In `question`, `options` and `why` a pair of backticks marks code, which may run over several lines;
    nothing else is markup. `options` are two or more different strings, shown in the order given. `answer` is
    the text of the right option, best computed by the cell itself, as in `str(x.tolist())`; an option that is
    code as a whole equals the same text without its backticks. `why` is shown with the answer.

    Raises TypeError for an answer that is not a string (an index would stay behind when options move),
    ValueError for an answer that is none of the options, for options that repeat and for an empty text.
    """
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        raise TypeError(f"options has to be a list of strings, not {options!r}")
    if not isinstance(answer, str):
        raise TypeError(
            f"answer has to be the text of the right option, not {answer!r} ({type(answer).__name__}): "
            f"str() or repr() makes a value the text of an option"
        )
    if not (question.strip() and why.strip() and all(option.strip() for option in options)):
        raise ValueError("question, why and every option need a text")
    bare = [_without_backticks(option) for option in options]
    if len(bare) < 2 or len(set(bare)) < len(bare):
        raise ValueError(f"options has to hold two or more different strings, not {list(options)!r}")
    if _without_backticks(answer) not in bare:
        raise ValueError(
            f"the answer {answer!r} is none of the options {list(options)!r}: correct the options, or the "
            f"code that gave the answer"
        )
    return Prediction(question, tuple(options), bare.index(_without_backticks(answer)), why)


def _without_backticks(text: str) -> str:
    """The code of a text that is one code span as a whole; any other text as it is."""
    code = text[1:-1]
    return code if text == f"`{code}`" and "`" not in code else text
