"""Controls for a measurement. The measurement runs again each time a reader chooses other arguments.

    def measured(size, operation):
        ...
        return timeline.show(recording)

    controls.show(measured, {"size": ["4 MiB", "64 MiB"], "operation": ["relu", "sin"]})

* In a notebook each argument has a list to choose from (ipywidgets), above the figure of the last run.
* A page has no kernel. It shows the figure of the first choices. If ``on_page`` is given, it shows a button and a
  figure for each entry of ``on_page`` instead. These figures are measured when the page is built. The buttons need no
  JavaScript. A notebook without ipywidgets shows the same.
* If the measurement raises an error (out of memory, a refusal), the error is shown instead of the figure.
"""

from __future__ import annotations

import html
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory_stage.messages import listed, message, said, sentences
from memory_stage.web.element import Figure
from memory_stage.web.embed import prose

Measure = Callable[..., Figure]
_groups = itertools.count(1)


class Controls:
    """A measurement with its chosen arguments, as :func:`show` returns it.

    Attributes:
        chosen: the present value of each argument, keyed by name.
        figure: the figure of the last run, or None if the run raised an error.
        error: the error of the last run, or None if the run returned a figure.
        widgets: the ``ipywidgets.Dropdown`` of each argument, keyed by name. It is empty until a notebook shows them.
    """

    def __init__(
        self, measure: Measure, choices: Mapping[str, Sequence[Any]], on_page: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self._measure = measure
        self._choices = {name: list(values) for name, values in choices.items()}
        self._on_page = {label: self._complete(chosen) for label, chosen in on_page.items()}
        self.chosen = {name: values[0] for name, values in self._choices.items()}
        self.figure: Figure | None = measure(**self.chosen)
        self.error: Exception | None = None
        self.widgets: dict[str, Any] = {}
        self._box: Any = None

    def choose(self, **chosen: Any) -> Figure | None:
        """Run the measurement with other arguments. Arguments that are not given keep their values.

        Returns:
            The figure, or None if the measurement raises an error, which is stored in ``error``.

        Raises:
            ValueError: if a name or a value is not offered.
        """
        self._check(chosen)
        self.chosen.update(chosen)
        self.figure = self.error = None
        try:
            self.figure = self._measure(**self.chosen)
        except Exception as error:  # an error of the measurement is a result that the reader wants to see
            self.error = error.with_traceback(None)  # a traceback would keep the tensors of the run alive
        if self._box is not None:
            for name, list_ in self.widgets.items():
                list_.value = self.chosen[name]
            self._box.children = (self._box.children[0], self._output())
        return self.figure

    def _check(self, chosen: Mapping[str, Any]) -> None:
        for name, value in chosen.items():
            if name not in self._choices:
                raise ValueError(f"there is no choice of {name!r}, only of {', '.join(map(repr, self._choices))}")
            if value not in self._choices[name]:
                raise ValueError(f"{name} must be one of {self._choices[name]}, not {value!r}")

    def _complete(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """Return all arguments. An argument that is missing in ``chosen`` gets its first choice."""
        self._check(chosen)
        return {name: chosen.get(name, values[0]) for name, values in self._choices.items()}

    # ---------- output ----------

    def _lists(self) -> Any:
        """Return the row of dropdown lists.

        Raises:
            ImportError: if ipywidgets is missing.
        """
        import ipywidgets

        for name, values in self._choices.items():
            self.widgets[name] = list_ = ipywidgets.Dropdown(options=values, value=self.chosen[name], description=name)
            list_.observe(lambda change, name=name: self._on_change(name, change["new"]), names="value")
        return ipywidgets.HBox(list(self.widgets.values()), layout={"flex_flow": "row wrap"})

    def _on_change(self, name: str, value: Any) -> None:
        if value != self.chosen[name]:  # `choose` also sets the lists
            self.choose(**{name: value})

    def _output(self) -> Any:
        import ipywidgets

        if self.figure is not None:
            return self.figure.widget()
        return ipywidgets.HTML(f"<p>{html.escape(f'{type(self.error).__name__}: {self.error}')}</p>")

    def _box_of_all(self) -> Any:
        if self._box is None:
            import ipywidgets

            self._box = ipywidgets.VBox([self._lists(), self._output()])
        return self._box

    def _arguments_text(self) -> str:
        pairs = (message("{name} {value}", name=name, value=str(value)) for name, value in self.chosen.items())
        return said(message("Measured with {arguments}.", arguments=listed(pairs)))

    def _still(self) -> dict[str, str]:
        """Return the output for a page without a kernel: the figure and its arguments."""
        if self.figure is None:
            error = f"{type(self.error).__name__}: {self.error}"
            return {"text/plain": f"{error}\n{self._arguments_text()}", "text/html": f"<p>{html.escape(error)}</p>\n"}
        shown = self.figure._repr_mimebundle_()
        if self._on_page:
            return {"text/plain": f"{shown['text/plain']}\n{self._arguments_text()}", "text/html": self._buttons()}
        where = said(message("A notebook has lists to choose from, and runs it again."))
        again = said(sentences([self._arguments_text(), where]))
        return {
            "text/plain": f"{shown['text/plain']}\n{self._arguments_text()}",
            "text/html": f"{shown['text/html']}\n<p>{html.escape(again)}</p>\n",
        }

    def _buttons(self) -> str:
        """Return a radio button and a figure for each entry of ``on_page``. A style shows only the chosen figure."""
        group = f"mt-choices-{next(_groups)}"
        buttons, figures, style = [], [], [f".{group} > div {{ display: none }}"]
        for number, (label, chosen) in enumerate(self._on_page.items()):
            name = f"{group}-{number}"
            checked = "" if number else " checked"
            button = f'<input type="radio" name="{group}" id="{name}"{checked}>'
            # In a flex box, a narrow page cannot break the line between a button and its label.
            look = "display: inline-flex; align-items: baseline; margin-right: 1.5em"
            buttons.append(f'<label style="{look}">{button}<span>{prose(label)}</span></label>\n')
            figure = self._measure(**chosen)
            figures.append(f'<div class="{name}">\n{figure._repr_mimebundle_()["text/html"]}\n</div>\n')
            style.append(f".{group}:has(#{name}:checked) > .{name} {{ display: block }}")
        label = said(message("Choose a measurement"))
        return (
            f"<style>@supports selector(:has(*)) {{ {' '.join(style)} }}</style>\n"
            f'<div class="{group}" role="group" aria-label="{label}">\n'
            f"{''.join(buttons)}{''.join(figures)}</div>\n"
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        still = self._still()
        if os.environ.get("MINITENSOR_BOOK") == "1":  # a page has no kernel
            return still
        try:
            live = self._box_of_all()._repr_mimebundle_(include=include, exclude=exclude)
        except ImportError:
            return still
        data, *metadata = live if isinstance(live, tuple) else (live,)
        return {**data, **still}, *(metadata or ({},))


def show(
    measure: Measure, choices: Mapping[str, Sequence[Any]], *, on_page: Mapping[str, Mapping[str, Any]] | None = None
) -> Controls:
    """Return a measurement with a list of choices for each argument. Call this in the last line of a cell.

    Args:
        measure: a function that returns a figure. Its arguments are the names in ``choices``. It must not change the
            device or the policy.
        choices: the values of each argument, keyed by name. The measurement runs now with the first value of each
            argument, and a page shows this figure.
        on_page: maps the label of each button on a page to a dict of arguments for its figure. An argument that is
            missing in the dict has its first value.

    Raises:
        ValueError: if an argument has no values, or ``on_page`` has a name or a value that is not in ``choices``.
        Any error that ``measure`` raises for the first choices.
    """
    if not choices or not all(choices.values()):
        raise ValueError(f"controls.show takes at least one value for each name, not {dict(choices)}")
    return Controls(measure, choices, on_page or {})
