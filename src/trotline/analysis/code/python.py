"""Python, read with its own parser: names are followed as far as constants go, and calls become deeds."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from typing import Any

from trotline.analysis.code.acts import ACTS, Act
from trotline.analysis.code.deeds import DEEPEST as MOST_TEXTS
from trotline.analysis.code.deeds import Deeds
from trotline.analysis.code.handed import handed, is_function
from trotline.analysis.code.python_calls import CALLS, METHODS, PROCESS, TEXT_METHODS, query, told
from trotline.analysis.code.python_values import DEEPEST, GAP, MOST_NODES, Expressions
from trotline.analysis.code.values import NOTHING, Call, Value, mixed
from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.step import Step


def read(step: Step, at: Argument, source: str, words: tuple[Argument, ...] = ()) -> None:
    """What this code would do; `words` are those that it gets."""
    deeds = Deeds(step, at, _again, sure=True)
    _read(deeds, source, words)
    step.out = deeds.output()


def _again(deeds: Deeds, source: str) -> None:
    _read(deeds, source, ())


def _read(deeds: Deeds, source: str, words: tuple[Argument, ...]) -> None:
    try:
        tree = _parsed(source.replace(UNKNOWN, GAP).strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        from trotline.analysis.code import languages, scan  # noqa: PLC0415 - only for what Python itself cannot read

        scan.scan(deeds, source, languages.PYTHON)
        return
    Python(deeds, words).block(tree.body)


_FILE = "<read by Trotline>"
_QUIET = ("ignore", None, Warning, re.compile(_FILE), 0)


def _parsed(source: str) -> ast.Module:
    """What Python thinks of foreign code is of no interest. `catch_warnings` would change what holds for every thread
    of this process while it reads; a filter for the name of this file alone changes nothing for anybody else.
    """
    if _QUIET not in warnings.filters:
        warnings.filterwarnings("ignore", module=_FILE)
    return ast.parse(source, _FILE)


_PROGRAMS = ("sh.", "plumbum.cmd.", "plumbum.local.")
"""Modules that have a function for every program."""

_MEMBERS = frozenset({"__getattribute__", "__getattr__"})
_ITEMS = frozenset({"get", "pop", "setdefault", "__getitem__"})
_DATABASE_METHODS = frozenset("execute executescript executemany cursor".split())


class Python(Expressions):
    """One module being read."""

    def __init__(self, deeds: Deeds, words: tuple[Argument, ...]) -> None:
        super().__init__(deeds, words)
        self.calling: set[int] = set()
        self.given: dict[int, ast.AST] = {}  # functions that somebody got, who may call them

    # Statements

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES or self.depth > DEEPEST:
            return
        self.depth += 1
        reader = _STATEMENTS.get(type(node))
        if reader is not None:
            reader(self, node)
        else:
            self.children(node)
        self.depth -= 1

    def on_import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            self.names[alias.asname or name] = Value(UNKNOWN, name)

    def on_import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name == "*":
                prefix = f"{node.module}."
                found = [name[len(prefix) :] for name in CALLS if name.startswith(prefix)]
                self.names |= {name: Value(UNKNOWN, prefix + name) for name in found if "." not in name}
            else:
                self.names[alias.asname or alias.name] = Value(UNKNOWN, f"{node.module}.{alias.name}")

    def on_assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.bind(target, value)

    def on_assign_one(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.value(node.value))

    def on_augment(self, node: ast.AugAssign) -> None:
        added = self.value(node.value)
        if isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add):
            old = self.names.get(node.target.id, NOTHING)
            self.names[node.target.id] = self.added(old, added)
        elif isinstance(node.target, ast.Name):
            self.names[node.target.id] = NOTHING

    def on_for(self, node: ast.For | ast.AsyncFor) -> None:
        for value in self.turns(self.value(node.iter)):
            self.bind(node.target, value)
            self.block(node.body)
        self.block(node.orelse)

    def on_while(self, node: ast.While) -> None:
        self.value(node.test)
        if self._forks(node):
            self.deeds.effect("process", "fork bomb")
        self.block(node.body)

    def _forks(self, node: ast.While) -> bool:
        calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
        return any(isinstance(call.func, ast.Attribute) and call.func.attr == "fork" for call in calls)

    def on_if(self, node: ast.If) -> None:
        self.value(node.test)
        main = isinstance(node.test, ast.Compare) and _is_named(node.test.left, "__name__")
        self.maybe += not main
        self.block(node.body)
        self.block(node.orelse)
        self.maybe -= not main

    def on_with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        self.block(node.body)

    def on_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            self.value(decorator)
        self.names[node.name] = Value(UNKNOWN, "function", body=node)

    def on_class(self, node: ast.ClassDef) -> None:
        """Methods may be called by anybody who has an object."""
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                self.block(inner.body)
            else:
                self.statement(inner)
        self.names[node.name] = NOTHING

    def on_return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.names["return"] = self.value(node.value)

    # Calls

    def call(self, node: ast.Call) -> Value:
        function = self.value(node.func)
        values: list[Value] = []
        for argument in node.args:
            value = self.value(argument)
            values += value.flat() if isinstance(argument, ast.Starred) else [value]
        named = {word.arg or "**": self.value(word.value) for word in node.keywords}
        values = [self.deeds.environment() if value.name == "os.environ" else value for value in values]
        named |= {name: self.deeds.environment() for name, value in named.items() if value.name == "os.environ"}
        return self._invoked(function, Call(function.name, tuple(values), named, function.owner))

    def _invoked(self, function: Value, call: Call) -> Value:
        if function.body is not None:
            return self._enter(function, call)
        found = self._known(call)
        for value in call.all():
            inside = value.body.values() if isinstance(value.body, dict) else value.flat()
            for inner in (value, *inside):
                if isinstance(inner.body, ast.AST) and id(inner.body) not in self.given:
                    self.given[id(inner.body)] = inner.body  # once is enough, however many get it
                    self._enter(inner, Call("", (), {}))
        return found

    def _known(self, call: Call) -> Value:
        special = _SPECIAL.get(call.name)
        if special is not None:
            return special(self, call)
        act = CALLS.get(call.name)
        if act is not None:
            return act(self.deeds, self._narrowed(call))
        if call.name.startswith(_PROGRAMS):
            return ACTS["named"](self.deeds, call)
        owner, method = call.owner, call.name.rpartition(".")[2]
        if method in _MEMBERS and call.values:
            of = call.values[0] if len(call.values) > 1 else owner or NOTHING
            return self.member(of, call.values[-1].text)
        if owner is not None and isinstance(owner.body, dict) and method in _ITEMS and call.values:
            item: Value = owner.body.get(call.values[0].text, mixed([owner]))
            return item
        another = handed(call, self._act) if method not in TEXT_METHODS else None
        if another is not None:
            act, call = another
            return act(self.deeds, self._narrowed(call)) if act is not None else Value(UNKNOWN, call.name)
        if owner is not None and not method[:1].isupper():
            return self._method(owner, method, call)
        return mixed(call.all())._replace(name=call.name if method[:1].isupper() else "")

    def _act(self, value: Value) -> Act | None:
        return CALLS.get(value.name) if is_function(value.name) else None

    def _method(self, owner: Value, method: str, call: Call) -> Value:
        if owner.name.startswith(PROCESS) and method in {"communicate", "write"}:
            return told(self.deeds, call)
        if owner.name.startswith("database:") and method in _DATABASE_METHODS:
            return query(self.deeds, call)
        if owner.name in {"Path", "<glob>"} and method in METHODS:
            return METHODS[method](self.deeds, self._narrowed(call))
        if owner.name in {"socket", "socket.socket"} and method in {"connect", "send", "sendall", "sendto"}:
            return CALLS["socket.connect"](self.deeds, call) if method == "connect" else self._sent(call)
        if method in {"write", "writelines"} and owner.name == "<file>":
            for path in owner.paths:
                content = call.values[0] if call.values else NOTHING
                self.deeds.step.scene.written[path] = content.text if content.known else None
            return NOTHING
        if method in TEXT_METHODS and owner.name in {"", "<file>", "<response>", "bytes"}:
            return TEXT_METHODS[method](self.deeds, call)
        return mixed([owner, *call.all()])._replace(name=owner.name if owner.name.startswith("socket") else "")

    def _sent(self, call: Call) -> Value:
        return self.deeds.send(Value(self.deeds.connected or UNKNOWN), "send", list(call.values))

    def _narrowed(self, call: Call) -> Call:
        """Under a condition not everything that a walk gives is meant."""
        if not self.maybe:
            return call
        owner = _some(call.owner) if call.owner is not None else None
        return call._replace(values=tuple(_some(value) for value in call.values), owner=owner)

    def _enter(self, function: Value, call: Call) -> Value:
        """A function of the code itself, with these values."""
        node = function.body
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or id(node) in self.calling:
            return NOTHING
        self.calling.add(id(node))
        before = dict(self.names)
        parameters = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        for index, name in enumerate(parameters):
            value = call.named.get(name) or (call.values[index] if index < len(call.values) else None)
            self.names[name] = value or self._default(node.args, len(parameters) - index)
        result = NOTHING
        if isinstance(node, ast.Lambda):
            result = self.value(node.body)
        else:
            self.block(node.body)
            result = self.names.get("return", NOTHING)
        self.names = before
        self.calling.discard(id(node))
        return result

    def _default(self, arguments: ast.arguments, from_end: int) -> Value:
        defaults = arguments.defaults
        return self.value(defaults[-from_end]) if from_end <= len(defaults) else NOTHING

    # Calls that mean something to the reader itself

    def on_getattr(self, call: Call) -> Value:
        if len(call.values) < 2:
            return NOTHING
        return self.member(call.values[0], call.values[1].text)

    def on_setattr(self, call: Call) -> Value:
        if len(call.values) > 2:
            self.names[f"{call.values[0].name}.{call.values[1].text}"] = call.values[2]
        return NOTHING

    def on_evaluate(self, call: Call) -> Value:
        """A text as code, with the names that there are; what came from elsewhere is judged by that as well."""
        source = call.at(0, "source") or NOTHING
        if not source.known or source.origins or self.deeds.depth >= MOST_TEXTS:
            return CALLS["eval"](self.deeds, call)
        try:
            body = _parsed(source.text.strip()).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return CALLS["eval"](self.deeds, call)
        self.deeds.depth += 1
        value = self.value(body[0].value) if len(body) == 1 and isinstance(body[0], ast.Expr) else None
        if value is None:
            self.block(body)
        self.deeds.depth -= 1
        return value or NOTHING

    def on_module(self, call: Call) -> Value:
        name = call.values[0].text if call.values else UNKNOWN
        if UNKNOWN in name:
            self.deeds.step.opaque("the code works out which module it uses", self.deeds.at, source="name")
        return Value(UNKNOWN, name)

    def on_vars(self, call: Call) -> Value:
        return Value(UNKNOWN, (call.values[0].name if call.values else "builtins") + ".__dict__")

    def on_map(self, call: Call) -> Value:
        if len(call.values) < 2:
            return NOTHING
        function, values = call.values[0], self.turns(call.values[1])
        found = [self._invoked(function, Call(function.name, (value,), {}, function.owner)) for value in values]
        return mixed(found)._replace(items=tuple(found))

    def on_later(self, call: Call) -> Value:
        """`Thread(target=..., args=...)` and its kin: a function, and what it is called with."""
        function, given = call.at(1, "target", "function"), call.at(2, "args") or NOTHING
        if function is not None:
            self._invoked(function, Call(function.name, tuple(given.flat()), {}, function.owner))
        return NOTHING

    def on_socket(self, _: Call) -> Value:
        return Value(UNKNOWN, "socket")


def _is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _some(value: Value) -> Value:
    return value._replace(text=value.text[:-1] + UNKNOWN) if value.text.endswith("*") else value


_SPECIAL: dict[str, Callable[[Python, Call], Value]] = {
    "__import__": Python.on_module,
    "builtins.eval": Python.on_evaluate,
    "builtins.exec": Python.on_evaluate,
    "eval": Python.on_evaluate,
    "exec": Python.on_evaluate,
    "getattr": Python.on_getattr,
    "globals": Python.on_vars,
    "importlib.__import__": Python.on_module,
    "importlib.import_module": Python.on_module,
    "map": Python.on_map,
    "multiprocessing.Process": Python.on_later,
    "operator.attrgetter": Python.on_getattr,
    "setattr": Python.on_setattr,
    "socket.socket": Python.on_socket,
    "threading.Thread": Python.on_later,
    "threading.Timer": Python.on_later,
    "vars": Python.on_vars,
}

_STATEMENTS: dict[type[ast.stmt], Callable[[Python, Any], None]] = {
    ast.AnnAssign: Python.on_assign_one,
    ast.Assign: Python.on_assign,
    ast.AsyncFor: Python.on_for,
    ast.AsyncFunctionDef: Python.on_function,
    ast.AsyncWith: Python.on_with,
    ast.AugAssign: Python.on_augment,
    ast.ClassDef: Python.on_class,
    ast.For: Python.on_for,
    ast.FunctionDef: Python.on_function,
    ast.If: Python.on_if,
    ast.Import: Python.on_import,
    ast.ImportFrom: Python.on_import_from,
    ast.Return: Python.on_return,
    ast.While: Python.on_while,
    ast.With: Python.on_with,
}
