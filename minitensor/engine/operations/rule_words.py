"""Phrases that replace the internal helpers in the gradient rules of docstrings.

A rule calls helpers of the engine that no vocabulary has, and passes values that are not parameters of the operation,
such as the shape of an operand. A reader of ``help()`` gets a phrase instead. A rule also calls operations of
the table; the docstring has their arguments in the order of the vocabulary.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

#: Maps each helper to its phrase. "{0}" is replaced by the helper's first argument, and "{operand}" by the operand of
#: the rule.
HELPERS = {
    # arithmetic and functions
    "power_slope": "{0} * {2} * {1} ** ({2} - 1), but 0 where {2} is 0",
    "power_log": "{0} * {2} * log({1}), but 0 where {1} is 0 and {2} is finite",
    "trunc_divide": "the integer part of {0} / {1}",
    "within_bounds": "{1} <= {0} <= {2}",
    "inside": "{1} < {0} < {2}",
    "at_or_beyond_bounds": "{0} <= {1} or {0} >= {2}",
    "with_no_slope": "{0}",
    "no_slope": "not known, so that backward raises RuntimeError",
    "sinc_slope": "the slope of sinc at {0}",
    "bessel_i": "the modified Bessel function of order {1} at {0}",
    "logit_gradient": "{0} / ({1} * (1 - {1})), but 0 below {2} and above 1 - {2}",
    "gamma_density": "exp(({0} - 1) * log({1}) - {1} - lgamma({0}))",
    "multipolygamma": "the sum of polygamma({0} - i / 2, {1}) for i from 0 to {2} - 1",
    # matrices
    "matmul_left": "the matrix product of {0} and {1}, summed to the dimensions of {operand}",
    "matmul_right": "the matrix product of {1} and {0}, summed to the dimensions of {operand}",
    "renorm_gradient": "{0}, but in slices that were scaled down the gradient of {1} * {4} / norm({1})",
    "diagonal_of": "the diagonals of {0} that {1}, {2} and {3} select",
    "emptied_diagonal": "{0} with 0 on the diagonals that {1}, {2} and {3} select",
    "fill_diagonal": "{0} with {1} on the diagonal",
    # reductions and scans
    "spread": "{0}, repeated along {2}",
    "along": "the number of elements along {1}",
    "product_of_others": "the product of the remaining elements along {1}",
    "to_extremes": "{0}, in equal shares, where {1} equals {2}, and 0 elsewhere",
    "shaped": "{0}",
    "cumsum_reversed": "the sum of {0} from each element to the last along {1}",
    "cumprod_gradient": "the sum of {0} times each product along {2} that contains the element, without the element",
    "softmax_gradient": "{1} * ({0} - the sum of {0} * {1} along {2})",
    # parts selected by an index or a mask
    "added_rows": "{0}, added to zeros at the positions that {1} lists along {2}",
    "emptied_rows": "{0} with 0 at the positions that {1} lists along {2}",
    "rows_once": "the sum of {0} at the positions that {1} lists along {2}, each counted once",
    "written_rows": "{0} at the positions that {1} lists; with {2}, 0 for an element that a later one overwrites",
    "added_along": "{0}, added to zeros at the elements that {1} lists along {2}",
    "emptied_along": "{0} with 0 at the elements that {1} lists along {2}",
    "taken_along": "{0} at the elements that {1} lists along {2}",
    "last_along": "{0} at the elements that {1} lists along {2}, but 0 for an element that a later one overwrites",
    "shares_along": "1 / the count of numbers in each mean",
    "multiplied_ones": "the product of the factors from {2}",
    "multiplied_along": "{0} times the product of the remaining factors",
    "extreme_self": "{0}, shared among equal numbers, where {1} is true, and 0 elsewhere",
    "extreme_along": "{0}, shared among equal numbers, where {4} has the number in {2}, and 0 elsewhere",
    "put_along_axis_amax": "out",
    "put_along_axis_amin": "out",
    "first_taken": "{0} at the true elements of {1}, in order, and 0 for elements that were not used",
    "put_back": "{0} at the true elements of {1}, and 0 elsewhere",
    "emptied_places": "{0} with 0 at the assigned elements",
    "written_places": "{0} at the assigned elements, but without {2}, 0 for an element that a later one overwrites",
}


#: Phrases for matrix products. The keys are the arguments ``transpose_x`` and ``transpose_y``.
PRODUCTS = {("False", "True"): "{0} @ the transposed {1}", ("True", "False"): "the transposed {0} @ {1}"}

#: A function that takes the name of an operation and the arguments of a call in the order of the row. It returns the
#: name and the arguments in a vocabulary.
Spelled = Callable[[str, list[str]], tuple[str, list[str]]]


def in_words(rule: str, operand: str, spelled: Spelled) -> str:
    """Return ``rule``, the gradient of ``operand``, with a phrase in place of every call of a helper."""
    calls = _Calls(operand, spelled)
    tree = calls.visit(ast.parse(rule, mode="eval").body)
    return calls.text(tree) if calls.texts else rule


class _Calls(ast.NodeTransformer):
    """Put a name in place of each call that a docstring shows as another text, and collect the texts."""

    def __init__(self, operand: str, spelled: Spelled) -> None:
        self.operand, self.spelled = operand, spelled
        self.texts: list[str] = []

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Return a name for the call, or the call itself if it needs no change."""
        node.args = [self.visit(each) for each in node.args]
        name, arguments = ast.unparse(node.func), [self.text(each) for each in node.args]
        phrase = PRODUCTS.get(tuple(arguments[2:])) if name == "matmul" else HELPERS.get(name)  # type: ignore[arg-type]  # a tuple of any length
        if phrase is None:
            other, reordered = self.spelled(name, arguments)
            if (other, reordered) == (name, arguments):
                return node
            text = f"{other}({', '.join(reordered)})"
        else:
            if "along {2}" in phrase and arguments[2].isdecimal():
                arguments[2] = f"dimension {arguments[2]}"
            text = phrase.format(*arguments, operand=self.operand)
        self.texts.append(text)
        return ast.Name(f"text_{len(self.texts) - 1}_")

    def text(self, node: ast.expr) -> str:
        """Return the source of ``node`` with the collected texts; parts of an expression are put in parentheses."""
        source = ast.unparse(node)
        for i in reversed(range(len(self.texts))):
            name, text = f"text_{i}_", self.texts[i]
            is_term = source == name or " " not in text or _is_call(text)
            source = source.replace(name, text if is_term else f"({text})")
        return source


def _is_call(text: str) -> bool:
    try:
        return isinstance(ast.parse(text, mode="eval").body, ast.Call)
    except SyntaxError:
        return False
