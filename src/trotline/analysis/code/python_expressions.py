"""Evaluate Python expressions as far as their values are constant."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable

from trotline.analysis.code.code_effects import (
    UNKNOWN_VALUE,
    CodeEffects,
    CodeValue,
    add_values,
    concatenate,
    make_list,
    make_text,
    mix_values,
)
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument

MAX_NODES = 20_000
MAX_TURNS = 16
MAX_DEPTH = 60
UNKNOWN_MARK = "\ue000"
"""A character for unknown parts while Python's parser reads the text, which must not contain NUL."""

_MODULE_ALIASES = {
    "posix": "os",
    "nt": "os",
    "builtins": "",
    "__builtins__": "",
    "__builtin__": "",
    "posixpath": "os.path",
}
_OBJECTS = frozenset({"Path", "<file>", "<glob>", "<response>"})
"""Kinds of objects whose methods are looked up by kind instead of by a dotted name."""


class PythonExpressions(ast.NodeVisitor):
    """The names of a module and the values of expressions."""

    def __init__(self, effects: CodeEffects, words: tuple[Argument, ...]) -> None:
        self.effects = effects
        self.names: dict[str, CodeValue] = {}
        self.argv = (CodeValue("-c"), *(CodeValue(word.text) for word in words))
        self.nodes = 0
        self.depth = 0
        self.conditions = 0  # number of enclosing conditions

    def bind(self, target: ast.expr, value: CodeValue) -> None:
        """Assign a value to a target."""
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            items = value.items or ()
            for index, inner in enumerate(target.elts):
                self.bind(inner, items[index] if index < len(items) else value._replace(items=None))
        elif isinstance(target, ast.Attribute):
            self.names[f"{self.visit(target.value).name}.{target.attr}"] = value
        elif isinstance(target, ast.Subscript):
            self.visit(target.slice)
            self.visit(target.value)

    def get_iterations(self, value: CodeValue) -> list[CodeValue]:
        """Return the values that a loop iterates over."""
        return [value] if value.items is None else list(value.items[:MAX_TURNS])

    def visit(self, node: ast.AST) -> CodeValue:
        """Analyze a statement, or return the value of an expression."""
        self.nodes += 1
        if self.nodes > MAX_NODES or self.depth > MAX_DEPTH:
            return UNKNOWN_VALUE
        self.depth += 1
        value: CodeValue = super().visit(node)
        self.depth -= 1
        return value

    def generic_visit(self, node: ast.AST) -> CodeValue:
        """Analyze all parts of a node and mix the values of its expressions."""
        values = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self.visit(child)
            else:
                values.append(self.visit(child) if isinstance(child, ast.expr) else self.generic_visit(child))
        return mix_values(values)

    def visit_Constant(self, node: ast.Constant) -> CodeValue:
        """Return a constant as text."""
        value = node.value
        if isinstance(value, str):
            return make_text(value.replace(UNKNOWN_MARK, UNKNOWN_CHAR))
        return make_text(value.decode("latin-1") if isinstance(value, bytes) else str(value)[:64])

    def visit_Name(self, node: ast.Name) -> CodeValue:
        """Return the value of a variable; a name without one is a module or a built-in function."""
        return self.names.get(node.id) or CodeValue(name=_MODULE_ALIASES.get(node.id, node.id))

    def visit_Attribute(self, node: ast.Attribute) -> CodeValue:
        """Return the value of `owner.name`."""
        return self.get_member(self.visit(node.value), node.attr)

    def get_member(self, owner: CodeValue, name: str) -> CodeValue:
        """Return an attribute of a value."""
        if owner.name == "Path" and name in {"parent", "name", "stem"}:
            cut = posixpath.dirname if name == "parent" else posixpath.basename
            return owner._replace(text=cut(owner.text) or ".")
        if name == "__call__":
            return owner
        known = self.names.get(f"{owner.name}.{name}") or CONSTANTS.get(f"{owner.name}.{name}")
        if known is not None:
            return known
        if name in _IMPORTED_MODULES and owner.name and owner.text == UNKNOWN_CHAR:
            return CodeValue(name=name)
        if owner.name in _MODULE_ALIASES:
            return CodeValue(name=".".join(filter(None, (_MODULE_ALIASES[owner.name], name))))
        if owner.name == "sys" and name == "argv":
            return CodeValue(name="list", items=self.argv)
        if owner.name and owner.name not in _OBJECTS and owner.text == UNKNOWN_CHAR:
            return mix_values([owner])._replace(name=f"{owner.name}.{name}", owner=owner)
        return mix_values([owner])._replace(name=f"?.{name}", owner=owner)

    def visit_Subscript(self, node: ast.Subscript) -> CodeValue:
        """Return the value of `owner[index]`."""
        owner, index = self.visit(node.value), self.visit(node.slice)
        if owner.name == "os.environ":
            return self.effects.get_variable(index)
        if owner.name == "sys.modules":
            return CodeValue(name=index.text)
        if isinstance(owner.body, dict) and index.text in owner.body:
            found: CodeValue = owner.body[index.text]
            return found
        if owner.name == "plumbum.local":
            return CodeValue(name=f"plumbum.local.{index.text}")
        if owner.name.endswith(".__dict__"):
            return self.get_member(CodeValue(name=owner.name.removesuffix(".__dict__")), index.text)
        if isinstance(node.slice, ast.Slice):
            return self._get_slice(owner, node.slice)
        number = index.text.lstrip("-")
        if owner.items is not None and number.isascii() and number.isdigit() and int(number) < len(owner.items):
            return owner.items[int(index.text)]
        return mix_values([owner])

    def _get_slice(self, owner: CodeValue, node: ast.Slice) -> CodeValue:
        parts = [self.visit(part).text if part is not None else "" for part in (node.lower, node.upper, node.step)]
        if not all(part.lstrip("-").isdigit() or not part for part in parts) or parts[2] == "0":
            return mix_values([owner])
        cut = slice(*(int(part) if part else None for part in parts))
        if owner.items is not None:
            return make_list(list(owner.items[cut]))
        return owner.with_text(owner.text[cut]) if owner.is_known else owner

    def visit_List(self, node: ast.List | ast.Tuple | ast.Set) -> CodeValue:
        """Return a list, tuple or set as a list."""
        return make_list([self.visit(inner) for inner in node.elts])

    visit_Tuple = visit_Set = visit_List

    def visit_Starred(self, node: ast.Starred) -> CodeValue:
        """Return the value after the star; the caller spreads it."""
        return self.visit(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> CodeValue:
        """Concatenate the parts of an f-string."""
        return concatenate([self.visit(inner) for inner in node.values])

    def visit_FormattedValue(self, node: ast.FormattedValue) -> CodeValue:
        """Return the interpolated value as text."""
        return self.visit(node.value)._replace(name="", items=None)

    def visit_BinOp(self, node: ast.BinOp) -> CodeValue:
        """Return the value of an arithmetic operator, which may join texts, lists or paths."""
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.Add):
            return add_values(left, right)
        if isinstance(node.op, ast.Div) and (left.name == "Path" or right.name == "Path"):
            return mix_values([left, right])._replace(text=posixpath.join(left.text, right.text), name="Path")
        if isinstance(node.op, ast.Mod) and left.is_known:
            return self._format_percent(left, right)
        if isinstance(node.op, ast.Mult) and right.text.isascii() and right.text.isdigit() and len(right.text) < 3:
            return left.with_text(left.text * int(right.text)) if left.is_known else left
        return mix_values([left, right])

    def _format_percent(self, pattern: CodeValue, values: CodeValue) -> CodeValue:
        text = pattern.text
        for value in values.flatten():
            text = text.replace("%s", value.text, 1)
        return mix_values([pattern, values]).with_text(text)

    def visit_BoolOp(self, node: ast.BoolOp) -> CodeValue:
        """Return the first operand with a known value."""
        values = [self.visit(value) for value in node.values]
        return next((value for value in values if value.is_known or value.name), mix_values(values))

    def visit_IfExp(self, node: ast.IfExp) -> CodeValue:
        """Return the value of the first branch; of the second one if the first is unknown."""
        self.visit(node.test)
        body, other = self.visit(node.body), self.visit(node.orelse)
        return body if body.is_known or body.name else other

    def visit_Lambda(self, node: ast.Lambda) -> CodeValue:
        """Return a function whose body is the lambda."""
        return CodeValue(name="function", body=node)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> CodeValue:
        """Return the items that a comprehension produces."""
        found: list[CodeValue] = []
        self._visit_generators(node.generators, lambda: found.append(self.visit(node.elt)))
        return make_list(found)

    visit_SetComp = visit_GeneratorExp = visit_ListComp

    def visit_Dict(self, node: ast.Dict) -> CodeValue:
        """Return an object with the values of its known keys."""
        keys = [self.visit(key) if key is not None else UNKNOWN_VALUE for key in node.keys]
        values = [self.visit(value) for value in node.values]
        body = {key.text: value for key, value in zip(keys, values, strict=True) if key.is_known}
        return mix_values([*keys, *values])._replace(body=body)

    def visit_DictComp(self, node: ast.DictComp) -> CodeValue:
        """Evaluate a dict comprehension and mix its keys and values."""
        found: list[CodeValue] = []
        self._visit_generators(node.generators, lambda: found.extend((self.visit(node.key), self.visit(node.value))))
        return mix_values(found)

    def _visit_generators(self, generators: list[ast.comprehension], action: Callable[[], None]) -> None:
        if not generators:
            action()
            return
        first = generators[0]
        for value in self.get_iterations(self.visit(first.iter)):
            self.bind(first.target, value)
            for condition in first.ifs:
                self.visit(condition)
            self.conditions += bool(first.ifs)
            self._visit_generators(generators[1:], action)
            self.conditions -= bool(first.ifs)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> CodeValue:
        """Bind the name of `name := value` and return the value."""
        value = self.visit(node.value)
        self.bind(node.target, value)
        return value


CONSTANTS = {
    "os.curdir": make_text("."),
    "os.pardir": make_text(".."),
    "os.path.curdir": make_text("."),
    "os.path.pardir": make_text(".."),
    "os.path.sep": make_text("/"),
    "os.sep": make_text("/"),
}
_IMPORTED_MODULES = frozenset({"os", "shutil", "subprocess", "sys"})
"""Modules that other modules import and therefore have as members."""
