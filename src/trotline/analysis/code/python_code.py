"""Analyze Python with its own parser: follow names with constant values, and add the effects of calls."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable

from trotline.analysis.code.call_actions import ACTIONS, CallAction, find_passed_function, is_function
from trotline.analysis.code.code_effects import (
    MAX_NESTING,
    PROCESS,
    UNKNOWN_VALUE,
    CodeCall,
    CodeEffects,
    CodeValue,
    add_values,
    mix_values,
)
from trotline.analysis.code.languages import load_languages
from trotline.analysis.code.python_calls import (
    PATH_METHODS,
    TEXT_METHODS,
    analyze_query,
    write_to_process,
)
from trotline.analysis.code.python_expressions import UNKNOWN_MARK, PythonExpressions
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument


def analyze_python(call: Invocation, at: Argument, source: str, words: tuple[Argument, ...] = ()) -> None:
    """Add the effects of Python code, and set the output of the call. `words` are the code's command line arguments."""
    effects = CodeEffects(call, at, _analyze_nested, is_exact=True)
    _analyze(effects, source, words)
    call.stdout = effects.get_output()


def _analyze_nested(effects: CodeEffects, source: str) -> None:
    _analyze(effects, source, ())


def _analyze(effects: CodeEffects, source: str, words: tuple[Argument, ...]) -> None:
    try:
        tree = _parse(source.replace(UNKNOWN_CHAR, UNKNOWN_MARK).strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        from trotline.analysis.code.code_scanner import scan_code  # noqa: PLC0415 - only for code that Python's parser rejects

        scan_code(effects, source, _PYTHON)
        return
    PythonAnalyzer(effects, words).execute_block(tree.body)


_PYTHON = load_languages()["python"]
_FILE_NAME = "<read by Trotline>"
_WARNING_FILTER = ("ignore", None, Warning, re.compile(_FILE_NAME), 0)


def _parse(source: str) -> ast.Module:
    """Parse code without warnings.

    `catch_warnings` would affect all threads of this process; a filter for this file name does not.
    """
    if _WARNING_FILTER not in warnings.filters:
        warnings.filterwarnings("ignore", module=_FILE_NAME)
    return ast.parse(source, _FILE_NAME)


_PROGRAM_MODULES = ("sh.", "plumbum.cmd.", "plumbum.local.")
"""Modules that have a function for every program."""

_GETATTR_METHODS = frozenset({"__getattribute__", "__getattr__"})
_ITEM_METHODS = frozenset({"get", "pop", "setdefault", "__getitem__"})
_FUNCTION_TYPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_DATABASE_METHODS = frozenset("execute executescript executemany cursor".split())


class PythonAnalyzer(PythonExpressions):
    """An analyzer of one module."""

    def __init__(self, effects: CodeEffects, words: tuple[Argument, ...]) -> None:
        super().__init__(effects, words)
        self.active_functions: set[int] = set()
        self.passed_functions: dict[int, ast.AST] = {}  # functions that were passed to other functions

    # Statements

    def execute_block(self, body: list[ast.stmt]) -> None:
        """Analyze statements in order."""
        for statement in body:
            self.visit(statement)

    def visit_Import(self, node: ast.Import) -> None:
        """Bind the names of modules."""
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            self.names[alias.asname or name] = CodeValue(name=name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Bind imported members; `*` binds all members that have an action."""
        for alias in node.names:
            if alias.name == "*":
                prefix = f"{node.module}."
                found = [name[len(prefix) :] for name in _PYTHON.functions if name.startswith(prefix)]
                self.names |= {name: CodeValue(name=prefix + name) for name in found if "." not in name}
            else:
                self.names[alias.asname or alias.name] = CodeValue(name=f"{node.module}.{alias.name}")

    def visit_Assign(self, node: ast.Assign) -> None:
        """Bind the targets of an assignment."""
        value = self.visit(node.value)
        for target in node.targets:
            self.bind(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Bind the target of an assignment with an annotation."""
        if node.value is not None:
            self.bind(node.target, self.visit(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Bind the result of `+=`; the result of other operators is unknown."""
        added = self.visit(node.value)
        if isinstance(node.target, ast.Name) and isinstance(node.op, ast.Add):
            old = self.names.get(node.target.id, UNKNOWN_VALUE)
            self.names[node.target.id] = add_values(old, added)
        elif isinstance(node.target, ast.Name):
            self.names[node.target.id] = UNKNOWN_VALUE

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        """Analyze the body of a loop once for each known item."""
        for value in self.get_iterations(self.visit(node.iter)):
            self.bind(node.target, value)
            self.execute_block(node.body)
        self.execute_block(node.orelse)

    visit_AsyncFor = visit_For

    def visit_While(self, node: ast.While) -> None:
        """Analyze the body of a loop once, and add an effect for a fork bomb."""
        self.visit(node.test)
        if self._forks(node):
            self.effects.add_effect("process", "fork bomb")
        self.execute_block(node.body)

    def _forks(self, node: ast.While) -> bool:
        calls = [inner for inner in ast.walk(node) if isinstance(inner, ast.Call)]
        return any(isinstance(call.func, ast.Attribute) and call.func.attr == "fork" for call in calls)

    def visit_If(self, node: ast.If) -> None:
        """Analyze both branches. The test of `__name__` does not count as a condition."""
        self.visit(node.test)
        main = isinstance(node.test, ast.Compare) and _is_name(node.test.left, "__name__")
        self.conditions += not main
        self.execute_block(node.body)
        self.execute_block(node.orelse)
        self.conditions -= not main

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        """Bind the names of a `with` statement and analyze its body."""
        for item in node.items:
            value = self.visit(item.context_expr)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        self.execute_block(node.body)

    visit_AsyncWith = visit_With

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Bind a function. Its body is analyzed when it is called."""
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.names[node.name] = CodeValue(name="function", body=node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Analyze all methods, because any of them may be called."""
        for inner in node.body:
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                self.execute_block(inner.body)
            else:
                self.visit(inner)
        self.names[node.name] = UNKNOWN_VALUE

    def visit_Return(self, node: ast.Return) -> None:
        """Record the value that a function returns."""
        if node.value is not None:
            self.names["return"] = self.visit(node.value)

    # Calls

    def visit_Call(self, node: ast.Call) -> CodeValue:
        """Evaluate a call and its arguments."""
        function = self.visit(node.func)
        values: list[CodeValue] = []
        for argument in node.args:
            value = self.visit(argument)
            values += value.flatten() if isinstance(argument, ast.Starred) else [value]
        named = {word.arg or "**": self.visit(word.value) for word in node.keywords}
        values = [self.effects.get_environment() if value.name == "os.environ" else value for value in values]
        named |= {name: self.effects.get_environment() for name, value in named.items() if value.name == "os.environ"}
        return self._invoke(function, CodeCall(function.name, tuple(values), named, function.owner))

    def _invoke(self, function: CodeValue, call: CodeCall) -> CodeValue:
        if function.body is not None:
            return self._enter_function(function, call)
        found = self._call_known(call)
        for value in call.get_all():
            inside = value.body.values() if isinstance(value.body, dict) else value.flatten()
            for inner in (value, *inside):
                if isinstance(inner.body, ast.AST) and id(inner.body) not in self.passed_functions:
                    self.passed_functions[id(inner.body)] = inner.body  # each function is analyzed once
                    self._enter_function(inner, CodeCall("", (), {}))
        return found

    def _call_known(self, call: CodeCall) -> CodeValue:
        special = _SPECIAL_CALLS.get(call.name)
        if special is not None:
            return special(self, call)
        action = _PYTHON.find_action(call.name)
        if action is not None:
            return action(self.effects, self._limit_wildcards(call))
        if call.name.startswith(_PROGRAM_MODULES):
            return ACTIONS["run_named"](self.effects, call)
        owner, method = call.owner, call.method
        if method in _GETATTR_METHODS and call.args:
            of = call.args[0] if len(call.args) > 1 else owner or UNKNOWN_VALUE
            return self.get_member(of, call.args[-1].text)
        if owner is not None and isinstance(owner.body, dict) and method in _ITEM_METHODS and call.args:
            item: CodeValue = owner.body.get(call.args[0].text, mix_values([owner]))
            return item
        passed = find_passed_function(call, self._find_action) if method not in TEXT_METHODS else None
        if passed is not None:
            action, call = passed
            return action(self.effects, self._limit_wildcards(call)) if action else CodeValue(name=call.name)
        if owner is not None and not method[:1].isupper():
            return self._call_method(owner, method, call)
        return mix_values(call.get_all())._replace(name=call.name if method[:1].isupper() else "")

    def _find_action(self, value: CodeValue) -> CallAction | None:
        return _PYTHON.find_action(value.name) if is_function(value.name) else None

    def _call_method(self, owner: CodeValue, method: str, call: CodeCall) -> CodeValue:
        if owner.name.startswith(PROCESS) and method in {"communicate", "write"}:
            return write_to_process(self.effects, call)
        if owner.name.startswith("database:") and method in _DATABASE_METHODS:
            return analyze_query(self.effects, call)
        if owner.name in {"Path", "<glob>"} and method in PATH_METHODS:
            return PATH_METHODS[method](self.effects, self._limit_wildcards(call))
        if owner.name in {"socket", "socket.socket"} and method in {"connect", "send", "sendall", "sendto"}:
            action = ACTIONS["connect"] if method == "connect" else _send_to_socket
            return action(self.effects, call)
        if method in {"write", "writelines"} and owner.name == "<file>":
            for path in owner.paths:
                content = call.args[0] if call.args else UNKNOWN_VALUE
                self.effects.state.written_texts[path] = content.text if content.is_known else None
            return UNKNOWN_VALUE
        if method in TEXT_METHODS and owner.name in {"", "<file>", "<response>", "bytes"}:
            return TEXT_METHODS[method](self.effects, call)
        return mix_values([owner, *call.get_all()])._replace(name=owner.name if owner.name.startswith("socket") else "")

    def _limit_wildcards(self, call: CodeCall) -> CodeCall:
        """Replace wildcards under a condition with unknown names, because not all files of a walk are affected."""
        if not self.conditions:
            return call
        owner = _limit_wildcard(call.owner) if call.owner is not None else None
        return call._replace(args=tuple(_limit_wildcard(value) for value in call.args), owner=owner)

    def _enter_function(self, function: CodeValue, call: CodeCall) -> CodeValue:
        """Analyze a function that the code defines, with these arguments."""
        node = function.body
        if not isinstance(node, _FUNCTION_TYPES) or id(node) in self.active_functions:
            return UNKNOWN_VALUE
        self.active_functions.add(id(node))
        before = dict(self.names)
        parameters = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        for index, name in enumerate(parameters):
            value = call.kwargs.get(name) or (call.args[index] if index < len(call.args) else None)
            self.names[name] = value or self._get_default(node.args, len(parameters) - index)
        if isinstance(node, ast.Lambda):
            result = self.visit(node.body)
        else:
            self.execute_block(node.body)
            result = self.names.get("return", UNKNOWN_VALUE)
        self.names = before
        self.active_functions.discard(id(node))
        return result

    def _get_default(self, arguments: ast.arguments, from_end: int) -> CodeValue:
        defaults = arguments.defaults
        return self.visit(defaults[-from_end]) if from_end <= len(defaults) else UNKNOWN_VALUE

    # Calls that the analyzer handles itself

    def call_getattr(self, call: CodeCall) -> CodeValue:
        """Return the attribute that `getattr` names."""
        if len(call.args) < 2:
            return UNKNOWN_VALUE
        return self.get_member(call.args[0], call.args[1].text)

    def call_setattr(self, call: CodeCall) -> CodeValue:
        """Bind the attribute that `setattr` names."""
        if len(call.args) > 2:
            self.names[f"{call.args[0].name}.{call.args[1].text}"] = call.args[2]
        return UNKNOWN_VALUE

    def call_eval(self, call: CodeCall) -> CodeValue:
        """Analyze a text as code with the current names. Texts from elsewhere also get the effect of `eval`."""
        source = call.get_arg(0, "source") or UNKNOWN_VALUE
        if not source.is_known or source.origins or self.effects.depth >= MAX_NESTING:
            return ACTIONS["run_code"](self.effects, call)
        try:
            body = _parse(source.text.strip()).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ACTIONS["run_code"](self.effects, call)
        self.effects.depth += 1
        value = self.visit(body[0].value) if len(body) == 1 and isinstance(body[0], ast.Expr) else None
        if value is None:
            self.execute_block(body)
        self.effects.depth -= 1
        return value or UNKNOWN_VALUE

    def call_import(self, call: CodeCall) -> CodeValue:
        """Return the module of `__import__` or `import_module`; a computed name is opaque."""
        name = call.args[0].text if call.args else UNKNOWN_CHAR
        if UNKNOWN_CHAR in name:
            self.effects.invocation.add_opaque(
                "the code works out which module it uses", self.effects.arg, source="name"
            )
        return CodeValue(name=name)

    def call_vars(self, call: CodeCall) -> CodeValue:
        """Return the `__dict__` of a module."""
        return CodeValue(name=(call.args[0].name if call.args else "builtins") + ".__dict__")

    def call_map(self, call: CodeCall) -> CodeValue:
        """Call the function of `map` for each known item."""
        if len(call.args) < 2:
            return UNKNOWN_VALUE
        function, values = call.args[0], self.get_iterations(call.args[1])
        found = [self._invoke(function, CodeCall(function.name, (value,), {}, function.owner)) for value in values]
        return mix_values(found)._replace(items=tuple(found))

    def call_thread(self, call: CodeCall) -> CodeValue:
        """Analyze the function of `Thread(target=..., args=...)`."""
        function, args = call.get_arg(1, "target", "function"), call.get_arg(2, "args") or UNKNOWN_VALUE
        if function is not None:
            self._invoke(function, CodeCall(function.name, tuple(args.flatten()), {}, function.owner))
        return UNKNOWN_VALUE

    def call_socket(self, _: CodeCall) -> CodeValue:
        """Return a socket, whose methods are looked up by its kind."""
        return CodeValue(name="socket")


def _send_to_socket(effects: CodeEffects, call: CodeCall) -> CodeValue:
    return effects.add_send(CodeValue(effects.connected_host or UNKNOWN_CHAR), "send", list(call.args))


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _limit_wildcard(value: CodeValue) -> CodeValue:
    return value._replace(text=value.text[:-1] + UNKNOWN_CHAR) if value.text.endswith("*") else value


_SPECIAL_CALLS: dict[str, Callable[[PythonAnalyzer, CodeCall], CodeValue]] = {
    **dict.fromkeys("eval exec builtins.eval builtins.exec".split(), PythonAnalyzer.call_eval),
    **dict.fromkeys("getattr operator.attrgetter".split(), PythonAnalyzer.call_getattr),
    **dict.fromkeys("globals vars".split(), PythonAnalyzer.call_vars),
    **dict.fromkeys("__import__ importlib.__import__ importlib.import_module".split(), PythonAnalyzer.call_import),
    **dict.fromkeys("multiprocessing.Process threading.Thread threading.Timer".split(), PythonAnalyzer.call_thread),
    "map": PythonAnalyzer.call_map,
    "setattr": PythonAnalyzer.call_setattr,
    "socket.socket": PythonAnalyzer.call_socket,
}
