"""Analyze code of languages without a parser: follow expressions as far as their values are constant."""

from __future__ import annotations

from trotline.analysis.code.call_actions import (
    ACTIONS,
    CallAction,
    find_passed_function,
    get_passed_arguments,
    is_function,
)
from trotline.analysis.code.code_effects import (
    UNKNOWN_VALUE,
    CodeCall,
    CodeEffects,
    CodeValue,
    add_values,
    concatenate,
    make_list,
    make_text,
    mix_values,
)
from trotline.analysis.code.code_tokens import CodeToken, tokenize
from trotline.analysis.code.languages import CodeLanguage

MAX_DEPTH = 40
_END = CodeToken("end", "")
_AS = CodeToken("name", "as")
_TERMINATORS = frozenset({"(", ")", "[", "]", "{", "}", ";", ","})
_KEYWORDS = frozenset(
    "if unless while until for foreach else elsif elif do then end return in not and or function const let var my our"
    " local async await new sub def lambda export default throw raise begin rescue ensure case when yield".split()
)
"""Keywords that precede a value or are not a value."""

_PREFIXES = frozenset({"!", "-", "\\", "&", "*", "@", "$", ":", "...", "~", "+"})
"""Operators that may precede a value."""

_INVOKING_METHODS = frozenset("call apply bind invoke invokeArgs".split())
_BODY_METHODS = frozenset("read string body text to_s".split())
_ITERATING_METHODS = frozenset("each forEach map each_with_index flatMap filter select then".split())


def scan_code(effects: CodeEffects, source: str, language: CodeLanguage) -> None:
    """Add the effects of the calls in a text."""
    CodeScanner(effects, source, language, {}).scan()


class CodeScanner:
    """The analysis of one text."""

    def __init__(self, effects: CodeEffects, source: str, language: CodeLanguage, names: dict[str, CodeValue]) -> None:
        self.effects, self.language = effects, language
        self.tokens = tokenize(source, language.syntax)
        self.names = names
        self.i = 0
        self.depth = 0

    def scan(self) -> CodeValue:
        """Analyze all expressions and return the value of the last one."""
        words = {token.text for token in self.tokens if token.kind == "name"}
        if "fork" in words and words & {"while", "loop", "for", "until"}:
            self.effects.add_effect("process", "fork bomb")
        value = UNKNOWN_VALUE
        while self.i < len(self.tokens):
            before = self.i
            value = self.parse_expression() or value
            if self.i == before:
                self.i += 1
        return value

    def peek(self, ahead: int = 0) -> CodeToken:
        """Return the token at a distance from the current one."""
        at = self.i + ahead
        return self.tokens[at] if at < len(self.tokens) else _END

    # Expressions

    def parse_expression(self) -> CodeValue | None:
        """Parse an expression and return its value, or None if there is none."""
        if self.depth > MAX_DEPTH:
            self.i += 1
            return None
        self.depth += 1
        value = self._parse_term()
        while value is not None:
            sign = self.peek()
            if sign.kind != "sign" or sign.text in _TERMINATORS:
                break
            self.i += 1
            other = self._parse_term()
            joins = sign.text in self.language.concat_operators
            value = add_values(value, other) if joins and other else mix_values([value, other or UNKNOWN_VALUE])
        self.depth -= 1
        return value

    def _parse_term(self) -> CodeValue | None:
        token = self.peek()
        while token.kind == "line" or (token.kind == "name" and token.text in _KEYWORDS):
            if token.kind == "line" and self.language.syntax.newline_ends_statement:
                return None
            self.i += 1
            token = self.peek()
        while token.is_sign(*_PREFIXES):
            self.i += 1
            token = self.peek()
        if token.kind == "sign":
            return self._parse_bracket(token)
        if token is _END:
            return None
        self.i += 1
        if token.kind == "name":
            return self._parse_name(token.text)
        return self._parse_suffixes(self._read_literal(token))

    def _read_literal(self, token: CodeToken) -> CodeValue:
        if token.kind == "number":
            return make_text(token.text)
        if token.kind == "glob":
            return CodeValue(token.text, name="<glob>")
        if token.kind == "words":
            return make_list([make_text(word) for word in token.text.split()])
        value = concatenate(
            [self._evaluate(part.text) if part.is_code else make_text(part.text) for part in token.parts]
        )
        return self.effects.analyze_script(value) if token.kind == "command" else value

    def _evaluate(self, code: str) -> CodeValue:
        inner = CodeScanner(self.effects, code, self.language, self.names)
        inner.depth = self.depth + 1
        return inner.scan() if self.depth < MAX_DEPTH else UNKNOWN_VALUE

    def _parse_bracket(self, token: CodeToken) -> CodeValue | None:
        if token.text == "(":
            values, named = self._parse_arguments(")")
            value = values[0] if len(values) == 1 and not named else make_list(values)
            if values and self.language.has_imports and self.peek().text == "(":
                value = values[-1]  # JavaScript: `(0, f)(...)`
            return self._parse_suffixes(value)
        if token.text == "[":
            values, _ = self._parse_arguments("]")
            return self._parse_suffixes(make_list(values))
        if token.text == "{":
            values, named = self._parse_arguments("}")
            named |= {value.name: value for value in values if value.name and value.owner is None}
            if self.language.calls_by_string and not named and len(values) == 1 and values[0].is_known:
                return self._parse_suffixes(values[0])  # Perl: `&{"name"}(...)`
            return self._parse_suffixes(mix_values([*values, *named.values()])._replace(name="<object>", body=named))
        return None

    def _parse_arguments(self, closer: str) -> tuple[list[CodeValue], dict[str, CodeValue]]:
        """Parse arguments up to the closing bracket, and return positional and named ones."""
        self.i += 1
        values: list[CodeValue] = []
        named: dict[str, CodeValue] = {}
        while self.i < len(self.tokens):
            token = self.peek()
            if token.is_sign(closer):
                self.i += 1
                break
            before = self.i
            self._parse_argument(values, named)
            if self.i == before:
                self.i += 1
        return values, named

    def _parse_argument(self, values: list[CodeValue], named: dict[str, CodeValue]) -> None:
        token, following = self.peek(), self.peek(1)
        if token.kind in {"name", "text"} and following.is_sign(":", "=>", "="):
            self.i += 2
            value = self.parse_expression()
            if value is not None:
                named[token.text] = value
            if value is not None and following.text == "=":
                self.names[token.text] = value
            return
        value = self.parse_expression()
        if value is None:
            return
        if isinstance(value.body, dict):
            named.update(value.body)
        values.append(value)
        if self.language.calls_by_string and self.peek() == _AS:
            self._bind_foreach(value)

    def _bind_foreach(self, value: CodeValue) -> None:
        """Bind the variable of PHP's `foreach (values as $key => $value)` to the first item."""
        name = ""
        while self.peek().kind == "name" or self.peek().text == "=>":
            name = self.peek().text
            self.i += 1
        self.names[name] = value.items[0] if value.items else value._replace(items=None)

    # Names

    def _parse_name(self, name: str) -> CodeValue | None:
        following = self.peek()
        if name == "import" and self.language.has_imports and following.text != "(":
            self._parse_import()
            return None
        if following.is_sign("=", ":="):
            self.i += 1
            value = self.parse_expression()
            self.names[name] = value or UNKNOWN_VALUE
            return value
        if following.is_sign("+=", ".="):
            self.i += 1
            added = self.parse_expression()
            self.names[name] = concatenate([self.names.get(name, UNKNOWN_VALUE), added or UNKNOWN_VALUE])
            return None
        value = self.names.get(name) or CodeValue(name=name)
        return self._parse_suffixes(value)

    def _parse_import(self) -> None:
        """Parse `import a, {b as c} from 'm'`."""
        names: list[str] = []
        while self.peek() is not _END and self.peek().kind not in {"text", "line"}:
            if self.peek().kind == "name":
                names.append(self.peek().text)
            self.i += 1
        module = self.language.canonicalize(self.peek().text)
        for name in names:
            inner = f"{module}.{name}"
            self.names[name] = CodeValue(name=inner if inner in self.language.functions else module)

    def bind(self, names: dict[str, CodeValue], value: CodeValue) -> None:
        """Bind the names of `const {a, b: c} = module`."""
        for name, alias in names.items():
            target = alias.name or name
            self.names[target] = CodeValue(name=f"{value.name}.{name}")

    # Suffixes of a value

    def _parse_suffixes(self, value: CodeValue) -> CodeValue | None:
        while True:
            token = self.peek()
            members = self.language.member_operators
            if token.is_sign(*members) and self.peek(1).kind == "name":
                self.i += 2
                value = self._get_member(value, self.peek(-1).text)
            elif token.text == "!" and "!" in members and self.peek(1).text == "(" and value.name:
                self.i += 1  # `File.rm!(...)` is `File.rm(...)` that may raise
            elif token.is_sign("(") and (value.name or value.body or self._names_function(value)):
                value = value if value.name or value.body else CodeValue(name=value.text)
                self._bind_block_parameter(value)
                values, named = self._parse_arguments(")")
                value = self._call(value, values, named)
            elif token.is_sign("[") or (token.is_sign("{") and value.name in {"$ENV", "%ENV"}):
                values, _ = self._parse_arguments("]" if token.text == "[" else "}")
                value = self._get_item(value, values[0] if values else UNKNOWN_VALUE)
            elif self.language.has_imports and token.kind == "text" and self._find_action(value.name) is not None:
                self.i += 1
                value = self._call(value, [self._read_literal(token)], {})  # JavaScript: `$`...``
            elif value.name in self.language.bare_calls and self._begins_value(token):
                value = self._call(value, *self._parse_bare_arguments())
            elif token.text == "=" and isinstance(value.body, dict):
                self.i += 1
                names = value.body
                value = self.parse_expression() or UNKNOWN_VALUE
                self.bind(names, value)
            else:
                return self._finish_name(value)

    def _names_function(self, value: CodeValue) -> bool:
        return self.language.calls_by_string and value.is_known and value.text in self.language.functions

    def _finish_name(self, value: CodeValue) -> CodeValue:
        """Handle a name without suffix, which is a call in some languages."""
        if value.owner is not None and self.language.calls_without_parens:
            self._bind_block_parameter(value)
            return self._call(value, [], {})
        if value.name in self.language.environment_names:
            return value._replace(origins=value.origins | {"environment"})
        return value

    def _bind_block_parameter(self, function: CodeValue) -> None:
        """Bind the parameter of `list.each { |name| ... }` or `list.forEach(name => ...)` to the first item."""
        if function.owner is None or function.name.rpartition(".")[2] not in _ITERATING_METHODS:
            return
        ahead = [self.peek(index) for index in range(4)]
        at = next((at for at, token in enumerate(ahead) if token.kind == "name" and token.text not in _KEYWORDS), 4)
        name, after = ahead[at].text if at < 4 else "", self.peek(at + 1).text
        if self._find_action(name) is not None or after in {"(", *self.language.member_operators}:
            return  # a function by name, `list.forEach(eval)`, or an expression that returns one
        items, promised = function.owner.items, function.name.endswith(".then")
        if name and promised and any(token.text == "{" for token in ahead[:3]):
            self.names[name] = self._get_member(function.owner, name)  # `import("fs").then(({rm}) => ...)`
        elif name:
            owner = function.owner if promised else function.owner._replace(name="")
            self.names[name] = items[0] if items else owner._replace(items=None)

    def _begins_value(self, token: CodeToken) -> bool:
        if token.text == "*" and self.peek(1).kind == "words":
            return True  # Ruby: `exec *%w(...)`
        return token.kind in {"text", "name", "number", "command", "glob", "words"} and token.text not in _KEYWORDS

    def _parse_bare_arguments(self) -> tuple[list[CodeValue], dict[str, CodeValue]]:
        values: list[CodeValue] = []
        named: dict[str, CodeValue] = {}
        while True:
            before = self.i
            self._parse_argument(values, named)
            if self.peek().text != "," or self.i == before:
                return values, named
            self.i += 1
            while self.peek().kind == "line":
                self.i += 1

    def _get_member(self, owner: CodeValue, name: str) -> CodeValue:
        if owner.name in self.language.environment_names:
            return self.effects.get_variable(make_text(name))
        if isinstance(owner.body, dict) and name in owner.body:
            found: CodeValue = owner.body[name]
            return found
        if owner.name and owner.name[0] != "<":
            return mix_values([owner])._replace(name=self.language.canonicalize(f"{owner.name}.{name}"), owner=owner)
        return mix_values([owner])._replace(name=f"?.{name}", owner=owner)

    def _get_item(self, owner: CodeValue, index: CodeValue) -> CodeValue:
        if owner.name in self.language.environment_names:
            return self.effects.get_variable(index if index.is_known else make_text(index.name))
        if owner.items is not None:
            number = int(index.text) if index.text.isascii() and index.text.isdigit() and len(index.text) < 6 else -1
            return owner.items[number] if 0 <= number < len(owner.items) else mix_values([owner])
        if owner.name[:1].isupper() and self._find_action(owner.name) is not None:
            return self._call(owner, [index], {})  # Ruby: `Dir["*"]`
        if owner.name and index.is_known and not index.text.isdigit():
            return self._get_member(owner, index.text)
        return owner if owner.is_known else mix_values([owner])

    # Calls

    def _call(self, function: CodeValue, values: list[CodeValue], named: dict[str, CodeValue]) -> CodeValue:
        name, owner = function.name, function.owner
        call = CodeCall(name, tuple(values), named, owner)
        method = call.method
        if name in self.language.import_calls or method in {"_load", "const_get"}:
            module = call.get_first()
            return CodeValue(name=self.language.canonicalize(module.text if module.is_known else module.name))
        if owner is not None and owner.name == "<response>" and method in _BODY_METHODS:
            return owner
        is_method = name.startswith("?.") and not values
        action = self._find_action(name) if not is_method else None
        if action is not None:
            return action(self.effects, call)
        if owner is not None and method in _ITERATING_METHODS:
            action = self._find_action(call.get_first().name)
            if action is not None:
                return action(self.effects, CodeCall(call.get_first().name, (owner._replace(name=""),), {}))
        passed = self._find_passed_function(call, method)
        if passed is not None:
            action, call = passed
            return action(self.effects, call) if action else CodeValue(name=call.name, owner=call.owner)
        if owner is not None and method in METHODS:
            return METHODS[method](self.effects, call)
        action = self.language.find_action(f"?.{method}")
        if owner is not None and action is not None:
            values = [owner._replace(name="", owner=None), *values]
            return action(self.effects, call._replace(args=tuple(values)))
        found = mix_values([*([owner] if owner is not None else []), *values, *named.values()])
        return found._replace(name=name if method[:1].isupper() or method == "new" else "")

    def _find_passed_function(self, call: CodeCall, method: str) -> tuple[CallAction | None, CodeCall] | None:
        """Find a known function among the arguments. Names in strings count only for callees that accept them."""
        owner = call.owner
        if owner is not None and method in _INVOKING_METHODS and (action := self._find_action(owner.name)) is not None:
            return action, CodeCall(owner.name, get_passed_arguments(list(call.args)), {}, owner.owner)
        if owner is not None and method in METHODS:
            return None
        accepts_names = method in self.language.callback_functions or call.name in self.language.callback_functions

        def find(value: CodeValue) -> CallAction | None:
            if not accepts_names:
                return self._find_action(value.name) if is_function(value.name) else None
            name = value.name or (value.text if value.is_known else "")
            member = f"{owner.name}.{name}" if owner is not None else ""
            return self._find_action(member) or self._find_action(name)

        return find_passed_function(call, find)

    def _find_action(self, name: str) -> CallAction | None:
        return self.language.find_action(name) or self.language.find_action(self.language.canonicalize(name))


# Methods of strings and lists


def _return_owner(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    return call.owner or UNKNOWN_VALUE


def _return_text(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Return the owner as text: a decoded buffer already is text, and `toString("base64")` only names a format."""
    return (call.owner or UNKNOWN_VALUE)._replace(name="")


def _join_items(effects: CodeEffects, call: CodeCall) -> CodeValue:
    owner = call.owner or UNKNOWN_VALUE
    if owner.items is None:
        return ACTIONS["join_paths"](effects, call)
    return concatenate(list(owner.items), call.get_first().text if call.args else "")


def _split_text(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    owner = call.owner or UNKNOWN_VALUE
    if not owner.is_known:
        return owner
    sign = call.get_first().text if call.args else ""
    return make_list([owner.with_text(part) for part in (owner.text.split(sign) if sign else owner.text)])


def _reverse_owner(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    owner = call.owner or UNKNOWN_VALUE
    if owner.items is not None:
        return owner._replace(items=owner.items[::-1])
    return owner.with_text(owner.text[::-1])


def _replace_text(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    owner = call.owner or UNKNOWN_VALUE
    if len(call.args) > 1 and call.args[0].text not in {"", "/"} and call.args[0].is_known:
        return owner.with_text(owner.text.replace(call.args[0].text, call.args[1].text))
    return owner


def _concatenate_owner(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    return concatenate([call.owner or UNKNOWN_VALUE, *call.args])


def _unpack(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Decode Ruby's `"...".unpack1("m")` and `["..."].pack("H*")`."""
    owner, template = (call.owner or UNKNOWN_VALUE).flatten()[:1], call.get_first().text
    value = owner[0] if owner else UNKNOWN_VALUE
    action = (
        ACTIONS["decode_base64"]
        if template.startswith("m") and "unpack" in call.name
        else ACTIONS["decode_hex"]
        if template[:1] in "Hh"
        else None
    )
    return action(effects, call._replace(args=(value,))) if action is not None else value


def _write_to_owner(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Send the text that `request(...).end(text)` writes, or pass it to a process as input."""
    owner = call.owner or UNKNOWN_VALUE
    process_call = owner.owner.body if owner.name == "?.stdin" and owner.owner is not None else None
    if isinstance(process_call, CodeCall) and call.args:
        return ACTIONS["run_list"](
            effects, process_call._replace(kwargs={**process_call.kwargs, "input": call.args[0]})
        )
    url = owner.body
    content = mix_values(list(call.args))
    if owner.name == "<response>" and isinstance(url, CodeValue) and (content.paths or content.origins):
        effects.add_send(url, "write", list(call.args))
    return owner


def _analyze_function_constructor(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Analyze `f.constructor("code")`, which compiles code."""
    return effects.analyze_code(call.args[-1]) if call.args and call.args[-1].is_known else UNKNOWN_VALUE


METHODS: dict[str, CallAction] = {
    **dict.fromkeys(
        "trim strip chomp to_s to_str toString each forEach map select filter first freeze call body text".split(),
        _return_owner,
    ),
    **dict.fromkeys("end write".split(), _write_to_owner),
    **dict.fromkeys("gsub replace sub".split(), _replace_text),
    **dict.fromkeys("pack unpack unpack1".split(), _unpack),
    "concat": _concatenate_owner,
    "constructor": _analyze_function_constructor,
    "decode": _return_text,
    "join": _join_items,
    "reverse": _reverse_owner,
    "split": _split_text,
}
