"""Decide whether a program only reports a collected value, or whether a backward pass may need its graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from memory_stage.explanation.whole_run.program_text import ProgramText, name_of

#: Functions that keep no graph of their argument alive, and attributes and methods that keep no graph of their object.
_READERS = frozenset(("print", "float", "int", "str", "len", "round", "format", "isinstance", "repr", "bool"))
_OWNER_READERS = frozenset(("item", "tolist", "detach", "detach_", "numpy", "append", "clear", "shape", "dtype"))
_REPORTERS = frozenset(("info", "debug", "warning", "add_scalar", "write", "set_postfix", "set_description"))
_COLLECTORS = frozenset(("append", "extend", "insert", "add"))
#: Modules whose functions return a value that is computed from their arguments, and keep no argument.
_LIBRARIES = frozenset(("torch", "F", "np", "numpy", "paddle", "math"))
_NOT_FOLLOWED = frozenset(("grad", "backward", "save", "hessian", "jacobian", "vjp", "jvp"))
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)

Function = ast.FunctionDef | ast.AsyncFunctionDef


class ValueReads:
    """The places where some files of a program read values.

    Args:
        texts: the files. Code in other files is assumed to read none of the values.
    """

    def __init__(self, texts: Sequence[ProgramText]) -> None:
        self._nodes = [node for text in texts for node in text.nodes()]
        self._parents = {child: node for node in self._nodes for child in ast.iter_child_nodes(node)}
        self._seen: set[tuple[ast.AST | None, str]] = set()

    def are_reported(self, path: str, function: ast.AST | None) -> bool:
        """Return True if the program only adds to a value, prints it, or takes its numbers.

        Args:
            path: a name, or the attributes or constant keys that lead from a name to the value. Attributes of the same
                name are taken for the same attribute, whatever their object.
            function: the function in which the path was found, a node of one of the files; None outside of functions.
        """
        self._seen = set()
        return self._is_reported(ast.parse(path, mode="eval").body, function)

    def _is_reported(self, target: ast.AST, function: ast.AST | None) -> bool:
        """Return True if the program only reports the values of the variable, attribute or list ``target``."""
        while isinstance(target, (ast.Subscript, ast.Starred)):
            target = target.value
        if isinstance(target, (ast.Tuple, ast.List)):
            return all(self._is_reported(each, function) for each in target.elts)
        if isinstance(target, ast.Attribute):
            return self._is_attribute_reported(target.attr)
        return isinstance(target, ast.Name) and self._is_name_reported(target.id, function)

    def _is_attribute_reported(self, attribute: str) -> bool:
        if (None, f".{attribute}") in self._seen:
            return True
        self._seen.add((None, f".{attribute}"))
        reads = [each for each in self._nodes if isinstance(each, ast.Attribute) and each.attr == attribute]
        strings = [each for each in self._nodes if isinstance(each, ast.Constant) and each.value == attribute]
        calls = [self._parents.get(each) for each in strings]
        if any(isinstance(call, ast.Call) and name_of(call.func) == "getattr" for call in calls):
            return False
        return all(self._is_harmless(each) for each in reads if isinstance(each.ctx, ast.Load))

    def _is_name_reported(self, name: str, function: ast.AST | None) -> bool:
        if (function, name) in self._seen:
            return True
        self._seen.add((function, name))
        if function is not None:
            nodes = list(ast.walk(function))
            if any(isinstance(each, (ast.Global, ast.Nonlocal)) and name in each.names for each in nodes):
                return False
        else:
            nodes = [each for each in self._nodes if not self._is_local(each, name)]
        reads = [each for each in nodes if isinstance(each, ast.Name) and each.id == name]
        return all(self._is_harmless(each) for each in reads if isinstance(each.ctx, ast.Load))

    def _is_local(self, node: ast.AST, name: str) -> bool:
        """Return True if a function around a node has a variable with this name."""
        return any(isinstance(each, _SCOPES) and name in local_names(each) for each in self._around(node))

    def _around(self, node: ast.AST) -> Iterator[ast.AST]:
        while (parent := self._parents.get(node)) is not None:
            yield parent
            node = parent

    def _function_of(self, node: ast.AST) -> Function | None:
        return next(
            (each for each in self._around(node) if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))), None
        )

    def _is_harmless(self, node: ast.AST) -> bool:
        """Return True if the expression ``node`` reads a value only to add it up, print it, or take its number."""
        read = node
        while not isinstance(node, ast.stmt):
            known = self._is_harmless_in(self._parents[node], node)
            if known is not None:
                return known
            node = self._parents[node]
        return self._is_harmless_statement(node, read)

    def _is_harmless_in(self, parent: ast.AST, node: ast.AST) -> bool | None:
        """Return True if ``parent`` only reports its part ``node``, False if it may keep the part.

        None means that the value of ``parent`` contains the part, so that the caller has to follow this value.
        """
        if isinstance(parent, ast.Call):
            return None if node is parent.func else self._is_harmless_argument(parent, node)
        if isinstance(parent, ast.comprehension):
            is_iterated = node is parent.iter
            return self._are_targets_harmless(parent.target, self._parents[parent]) if is_iterated else None
        if isinstance(parent, (ast.For, ast.AsyncFor)):
            return node is parent.iter and self._is_reported(parent.target, self._function_of(parent))
        if isinstance(parent, (ast.Lambda, ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr)):
            return False
        return True if _is_report(parent, node) else None

    def _are_targets_harmless(self, target: ast.AST, comprehension: ast.AST) -> bool:
        """Return True if a comprehension only reports the entries of a list."""
        names = {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
        reads = [each for each in ast.walk(comprehension) if isinstance(each, ast.Name) and each.id in names]
        return all(self._is_harmless(each) for each in reads if isinstance(each.ctx, ast.Load))

    def _is_harmless_argument(self, call: ast.Call, argument: ast.AST) -> bool | None:
        """Return True if a call only reports an argument, and False if the call may keep the argument.

        None means that the result of the call may contain the argument, so that the caller has to follow the result.
        """
        function, name = call.func, name_of(call.func)
        if isinstance(function, ast.Name) and name in _READERS:
            return True
        if isinstance(function, ast.Attribute):
            if name in _REPORTERS:
                return True
            root = function.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in _LIBRARIES:
                return False if name in _NOT_FOLLOWED else None
            if name in _COLLECTORS:
                return self._is_reported(function.value, self._function_of(call))
        elif name in ("sum", "max", "min", "list", "tuple", "dict", "zip", "enumerate", "sorted", "reversed"):
            return None
        return self._is_parameter_reported(call, argument)

    def _is_parameter_reported(self, call: ast.Call, argument: ast.AST) -> bool:
        """Return True if the program's functions of this name only report the parameter that receives ``argument``."""
        name = name_of(call.func)
        functions = [each for each in self._nodes if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
        called = [each for each in functions if each.name == name]
        if not called or name in dir(list) + dir(dict):
            return False
        for each in called:
            parameters = [one.arg for one in (*each.args.posonlyargs, *each.args.args)]
            if isinstance(argument, ast.keyword):
                parameter = argument.arg if argument.arg in parameters + [x.arg for x in each.args.kwonlyargs] else None
            else:
                is_method = isinstance(call.func, ast.Attribute) and parameters[:1] in (["self"], ["cls"])
                at = next((n for n, one in enumerate(call.args) if one is argument), None)
                at = None if at is None else at + is_method
                parameter = parameters[at] if at is not None and at < len(parameters) else None
            if parameter is None or not self._is_name_reported(parameter, each):
                return False
        return True

    def _is_harmless_statement(self, statement: ast.stmt, read: ast.AST) -> bool:
        if isinstance(statement, ast.Return):
            function = self._function_of(statement)
            return function is not None and self._is_result_reported(function)
        if isinstance(statement, ast.Assign):
            return all(self._is_reported(each, self._function_of(statement)) for each in statement.targets)
        if isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
            return self._is_reported(statement.target, self._function_of(statement))
        return isinstance(statement, ast.Assert) or (isinstance(statement, ast.Expr) and statement.value is read)

    def _is_result_reported(self, function: Function) -> bool:
        """Return True if the program calls a function and only reports the results."""
        if (function, "return") in self._seen:
            return True
        self._seen.add((function, "return"))
        is_property = any(name_of(each) in ("property", "cached_property") for each in function.decorator_list)
        uses = []
        for each in self._nodes:
            is_name = isinstance(each, ast.Name) and each.id == function.name
            is_attribute = isinstance(each, ast.Attribute) and each.attr == function.name
            if (is_name or is_attribute) and isinstance(each.ctx, ast.Load):  # type: ignore[attr-defined]  # checked above
                uses.append(each)
        for each in uses:
            parent = self._parents.get(each)
            is_called = isinstance(parent, ast.Call) and parent.func is each
            if not is_called and not is_property:
                return False
            if not self._is_harmless(each if is_property else parent):  # type: ignore[arg-type]  # a call
                return False
        return bool(uses)


def _is_report(parent: ast.AST, node: ast.AST) -> bool:
    """Return True if an expression turns the part ``node`` into text, a condition, an index or a number."""
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod) and node is parent.right:
        return isinstance(parent.left, (ast.Constant, ast.JoinedStr))
    if isinstance(parent, ast.Attribute):
        return parent.attr in _OWNER_READERS
    if isinstance(parent, ast.Subscript):
        return node is parent.slice
    if isinstance(parent, (ast.If, ast.While, ast.IfExp)):
        return node is parent.test
    return isinstance(parent, (ast.FormattedValue, ast.Compare))


def local_names(function: Any) -> set[str]:
    """Return the names of the arguments and the assigned variables of a function, without its global ones."""
    arguments = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
    nodes = list(ast.walk(function))
    outer = {name for each in nodes if isinstance(each, (ast.Global, ast.Nonlocal)) for name in each.names}
    stored = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    return (arguments | stored) - outer
