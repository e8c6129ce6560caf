"""Expressions of Python: what they stand for, as far as constants go."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable
from typing import Any

from trotline.analysis.code.deeds import Deeds
from trotline.analysis.code.values import NOTHING, Value, concatenated, listed, mixed, text
from trotline.analysis.scene import UNKNOWN, Argument

MOST_NODES = 20_000
MOST_TURNS = 16
DEEPEST = 60
GAP = "\ue000"
"""Stands for what is unknown while Python's own parser reads the text, which accepts no NUL."""

_CANONICAL = {"posix": "os", "nt": "os", "builtins": "", "__builtins__": "", "__builtin__": "", "posixpath": "os.path"}
_OBJECTS = frozenset({"Path", "<file>", "<glob>", "<response>"})
"""Kinds of values whose methods are looked up by the kind, not by a dotted name."""


class Expressions:
    """The names of a module, and what expressions make of them."""

    def __init__(self, deeds: Deeds, words: tuple[Argument, ...]) -> None:
        self.deeds = deeds
        self.names: dict[str, Value] = {}
        self.words = (Value("-c"), *(Value(word.text) for word in words))
        self.nodes = 0
        self.depth = 0
        self.maybe = 0  # conditions around what is read

    def call(self, node: ast.Call) -> Value:
        """What a call gives; the reader of modules knows the functions."""
        raise NotImplementedError

    def statement(self, node: ast.stmt) -> None:
        """What stands in a body; the reader's as well."""
        raise NotImplementedError

    def bind(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            items = value.items or ()
            for index, inner in enumerate(target.elts):
                self.bind(inner, items[index] if index < len(items) else value._replace(items=None))
        elif isinstance(target, ast.Attribute):
            self.names[f"{self.value(target.value).name}.{target.attr}"] = value
        elif isinstance(target, ast.Subscript):
            self.value(target.slice)
            self.value(target.value)

    def turns(self, value: Value) -> list[Value]:
        """What a loop over it sees."""
        return [value] if value.items is None else list(value.items[:MOST_TURNS])

    def children(self, node: ast.AST) -> Value:
        values = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                values.append(self.value(child))
            elif isinstance(child, ast.stmt):
                self.statement(child)
            else:
                values.append(self.children(child))
        return mixed(values)

    def value(self, node: ast.AST) -> Value:
        self.nodes += 1
        if self.nodes > MOST_NODES or self.depth > DEEPEST:
            return NOTHING
        self.depth += 1
        reader = _VALUES.get(type(node))
        found = reader(self, node) if reader is not None else self.children(node)
        self.depth -= 1
        return found

    def of_constant(self, node: ast.Constant) -> Value:
        value = node.value
        if isinstance(value, str):
            return text(value.replace(GAP, UNKNOWN))
        return text(value.decode("latin-1") if isinstance(value, bytes) else str(value)[:64])

    def of_name(self, node: ast.Name) -> Value:
        return self.names.get(node.id) or Value(UNKNOWN, _CANONICAL.get(node.id, node.id))

    def of_attribute(self, node: ast.Attribute) -> Value:
        return self.member(self.value(node.value), node.attr)

    def member(self, owner: Value, name: str) -> Value:
        if owner.name == "Path" and name in {"parent", "name", "stem"}:
            cut = posixpath.dirname if name == "parent" else posixpath.basename
            return owner._replace(text=cut(owner.text) or ".")
        if name == "__call__":
            return owner
        known = self.names.get(f"{owner.name}.{name}") or CONSTANTS.get(f"{owner.name}.{name}")
        if known is not None:
            return known
        if name in _MODULES and owner.name and owner.text == UNKNOWN:
            return Value(UNKNOWN, name)
        if owner.name in _CANONICAL:
            return Value(UNKNOWN, ".".join(filter(None, (_CANONICAL[owner.name], name))))
        if owner.name == "sys" and name == "argv":
            return Value(UNKNOWN, "list", self.words)
        if owner.name and owner.name not in _OBJECTS and owner.text == UNKNOWN:
            return mixed([owner])._replace(name=f"{owner.name}.{name}", owner=owner)
        return mixed([owner])._replace(name=f"?.{name}", owner=owner)

    def of_subscript(self, node: ast.Subscript) -> Value:
        owner, index = self.value(node.value), self.value(node.slice)
        if owner.name == "os.environ":
            return self.deeds.variable(index)
        if owner.name == "sys.modules":
            return Value(UNKNOWN, index.text)
        if isinstance(owner.body, dict) and index.text in owner.body:
            found: Value = owner.body[index.text]
            return found
        if owner.name == "plumbum.local":
            return Value(UNKNOWN, f"plumbum.local.{index.text}")
        if owner.name.endswith(".__dict__"):
            return self.member(Value(UNKNOWN, owner.name.removesuffix(".__dict__")), index.text)
        if isinstance(node.slice, ast.Slice):
            return self._slice(owner, node.slice)
        number = index.text.lstrip("-")
        if owner.items is not None and number.isascii() and number.isdigit() and int(number) < len(owner.items):
            return owner.items[int(index.text)]
        return mixed([owner])

    def _slice(self, owner: Value, node: ast.Slice) -> Value:
        parts = [self.value(part).text if part is not None else "" for part in (node.lower, node.upper, node.step)]
        if not all(part.lstrip("-").isdigit() or not part for part in parts) or parts[2] == "0":
            return mixed([owner])
        cut = slice(*(int(part) if part else None for part in parts))
        if owner.items is not None:
            return listed(list(owner.items[cut]))
        return owner.with_text(owner.text[cut]) if owner.known else owner

    def of_list(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        values = [self.value(inner) for inner in node.elts]
        return listed(values)

    def of_starred(self, node: ast.Starred) -> Value:
        return self.value(node.value)

    def of_f_string(self, node: ast.JoinedStr) -> Value:
        return concatenated([self.value(inner) for inner in node.values])

    def of_formatted(self, node: ast.FormattedValue) -> Value:
        return self.value(node.value)._replace(name="", items=None)

    def of_operation(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(node.op, ast.Add):
            return self.added(left, right)
        if isinstance(node.op, ast.Div) and (left.name == "Path" or right.name == "Path"):
            return mixed([left, right])._replace(text=posixpath.join(left.text, right.text), name="Path")
        if isinstance(node.op, ast.Mod) and left.known:
            return self._percent(left, right)
        if isinstance(node.op, ast.Mult) and right.text.isascii() and right.text.isdigit() and len(right.text) < 3:
            return left.with_text(left.text * int(right.text)) if left.known else left
        return mixed([left, right])

    def added(self, left: Value, right: Value) -> Value:
        if left.items is not None or right.items is not None:
            return listed([*left.flat(), *right.flat()])
        return concatenated([left, right])

    def _percent(self, pattern: Value, values: Value) -> Value:
        done = pattern.text
        for value in values.flat():
            done = done.replace("%s", value.text, 1)
        return mixed([pattern, values]).with_text(done)

    def of_either(self, node: ast.BoolOp) -> Value:
        values = [self.value(value) for value in node.values]
        return next((value for value in values if value.known or value.name), mixed(values))

    def of_choice(self, node: ast.IfExp) -> Value:
        self.value(node.test)
        body, other = self.value(node.body), self.value(node.orelse)
        return body if body.known or body.name else other

    def of_lambda(self, node: ast.Lambda) -> Value:
        return Value(UNKNOWN, "function", body=node)

    def of_comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
        found: list[Value] = []
        self._generators(node.generators, lambda: found.append(self.value(node.elt)))
        return listed(found)

    def of_dict(self, node: ast.Dict) -> Value:
        keys = [self.value(key) if key is not None else NOTHING for key in node.keys]
        values = [self.value(value) for value in node.values]
        body = {key.text: value for key, value in zip(keys, values, strict=True) if key.known}
        return mixed([*keys, *values])._replace(body=body)

    def of_mapping(self, node: ast.DictComp) -> Value:
        found: list[Value] = []
        self._generators(node.generators, lambda: found.extend((self.value(node.key), self.value(node.value))))
        return mixed(found)

    def _generators(self, generators: list[ast.comprehension], then: Callable[[], None]) -> None:
        if not generators:
            then()
            return
        first = generators[0]
        for value in self.turns(self.value(first.iter)):
            self.bind(first.target, value)
            for condition in first.ifs:
                self.value(condition)
            self.maybe += bool(first.ifs)
            self._generators(generators[1:], then)
            self.maybe -= bool(first.ifs)

    def of_walrus(self, node: ast.NamedExpr) -> Value:
        value = self.value(node.value)
        self.bind(node.target, value)
        return value


CONSTANTS = {
    "os.curdir": text("."),
    "os.pardir": text(".."),
    "os.path.curdir": text("."),
    "os.path.pardir": text(".."),
    "os.path.sep": text("/"),
    "os.sep": text("/"),
}
_MODULES = frozenset({"os", "shutil", "subprocess", "sys"})
"""Modules that others have as a member, because they import them."""

_VALUES: dict[type[ast.AST], Callable[[Expressions, Any], Value]] = {
    ast.Attribute: Expressions.of_attribute,
    ast.BinOp: Expressions.of_operation,
    ast.BoolOp: Expressions.of_either,
    ast.Call: lambda reader, node: reader.call(node),
    ast.Constant: Expressions.of_constant,
    ast.Dict: Expressions.of_dict,
    ast.DictComp: Expressions.of_mapping,
    ast.FormattedValue: Expressions.of_formatted,
    ast.GeneratorExp: Expressions.of_comprehension,
    ast.IfExp: Expressions.of_choice,
    ast.JoinedStr: Expressions.of_f_string,
    ast.Lambda: Expressions.of_lambda,
    ast.List: Expressions.of_list,
    ast.ListComp: Expressions.of_comprehension,
    ast.Name: Expressions.of_name,
    ast.NamedExpr: Expressions.of_walrus,
    ast.Set: Expressions.of_list,
    ast.SetComp: Expressions.of_comprehension,
    ast.Starred: Expressions.of_starred,
    ast.Subscript: Expressions.of_subscript,
    ast.Tuple: Expressions.of_list,
}
