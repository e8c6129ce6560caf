"""Code of languages that have no parser here: expressions are followed as far as constants and calls go."""

from __future__ import annotations

from trotline.analysis.code.acts import Act
from trotline.analysis.code.deeds import Deeds
from trotline.analysis.code.handed import given, handed, is_function
from trotline.analysis.code.language import Language
from trotline.analysis.code.methods import METHODS
from trotline.analysis.code.tokens import Token, tokens
from trotline.analysis.code.values import NOTHING, Call, Value, concatenated, listed, mixed, text
from trotline.analysis.scene import UNKNOWN

DEEPEST = 40
_STOP = Token("end", "")
_AS = Token("name", "as")
_ENDS = frozenset({")", "]", "}", ";", ","})
_WORDS = frozenset(
    "if unless while until for foreach else elsif elif do then end return in not and or function const let var my our"
    " local async await new sub def lambda export default throw raise begin rescue ensure case when yield".split()
)
"""Words of grammar: they are no value, and what follows them is."""

_BEFORE = frozenset({"!", "-", "\\", "&", "*", "@", "$", ":", "...", "~", "+"})
"""Signs that may stand before a value."""

_INVOKES = frozenset("call apply bind invoke invokeArgs".split())
_WHOLE = frozenset("read string body text to_s".split())
_EACH = frozenset("each forEach map each_with_index flatMap filter select then".split())


def scan(deeds: Deeds, source: str, language: Language) -> None:
    """What this code would do, as far as its calls tell."""
    reader = Scan(deeds, source, language, {})
    reader.whole()


class Scan:
    """One text being read."""

    def __init__(self, deeds: Deeds, source: str, language: Language, names: dict[str, Value]) -> None:
        self.deeds, self.language = deeds, language
        self.tokens = tokens(source, language.spelling)
        self.names = names
        self.i = 0
        self.depth = 0

    def whole(self) -> Value:
        words = {token.text for token in self.tokens if token.kind == "name"}
        if "fork" in words and words & {"while", "loop", "for", "until"}:
            self.deeds.effect("process", "fork bomb")
        value = NOTHING
        while self.i < len(self.tokens):
            before = self.i
            value = self.expression() or value
            if self.i == before:
                self.i += 1
        return value

    def peek(self, ahead: int = 0) -> Token:
        at = self.i + ahead
        return self.tokens[at] if at < len(self.tokens) else _STOP

    # Expressions

    def expression(self) -> Value | None:
        if self.depth > DEEPEST:
            self.i += 1
            return None
        self.depth += 1
        value = self._term()
        while value is not None:
            sign = self.peek()
            if sign.kind != "sign" or sign.text in _ENDS or sign.text in {"(", "[", "{"}:
                break
            self.i += 1
            other = self._term()
            joins = sign.text in self.language.joins and other is not None
            value = self._sum(value, other) if joins and other is not None else mixed([value, other or NOTHING])
        self.depth -= 1
        return value

    def _sum(self, left: Value, right: Value) -> Value:
        if left.items is not None or right.items is not None:
            return listed([*left.flat(), *right.flat()])
        return concatenated([left, right])

    def _term(self) -> Value | None:
        token = self.peek()
        while token.kind == "line" or (token.kind == "name" and token.text in _WORDS and token.kind != "sign"):
            if token.kind == "line" and self.language.spelling.lines:
                return None
            self.i += 1
            token = self.peek()
        while token.kind == "sign" and token.text in _BEFORE:
            self.i += 1
            token = self.peek()
        if token.kind == "sign":
            return self._signed(token)
        if token is _STOP:
            return None
        self.i += 1
        if token.kind == "name":
            return self._named(token.text)
        return self._after(self._literal(token))

    def _literal(self, token: Token) -> Value:
        if token.kind == "number":
            return text(token.text)
        if token.kind == "glob":
            return Value(token.text, "<glob>")
        if token.kind == "words":
            return listed([text(word) for word in token.text.split()])
        values = [self._hole(part.text) if part.code else text(part.text) for part in token.parts]
        value = concatenated(values)
        return self.deeds.script(value) if token.kind == "command" else value

    def _hole(self, code: str) -> Value:
        inner = Scan(self.deeds, code, self.language, self.names)
        inner.depth = self.depth + 1
        return inner.whole() if self.depth < DEEPEST else NOTHING

    def _signed(self, token: Token) -> Value | None:
        if token.text == "(":
            values, named = self._arguments(")")
            value = values[0] if len(values) == 1 and not named else listed(values)
            if values and self.language.imports and self.peek().text == "(":
                value = values[-1]  # JavaScript: `(0, f)(...)`
            return self._after(value)
        if token.text == "[":
            values, _ = self._arguments("]")
            return self._after(listed(values))
        if token.text == "{":
            values, named = self._arguments("}")
            named |= {value.name: value for value in values if value.name and value.owner is None}
            if self.language.by_text and not named and len(values) == 1 and values[0].known:
                return self._after(values[0])  # Perl: `&{"name"}(...)`
            return self._after(mixed([*values, *named.values()])._replace(name="<object>", body=named))
        return None

    def _arguments(self, closer: str) -> tuple[list[Value], dict[str, Value]]:
        """What stands in brackets; keys with their values apart."""
        self.i += 1
        values: list[Value] = []
        named: dict[str, Value] = {}
        while self.i < len(self.tokens):
            token = self.peek()
            if token.kind == "sign" and token.text == closer:
                self.i += 1
                break
            before = self.i
            self._argument(values, named)
            if self.i == before:
                self.i += 1
        return values, named

    def _argument(self, values: list[Value], named: dict[str, Value]) -> None:
        token, following = self.peek(), self.peek(1)
        if token.kind in {"name", "text"} and following.text in {":", "=>", "="} and following.kind == "sign":
            self.i += 2
            value = self.expression()
            if value is not None:
                named[token.text] = value
            if value is not None and following.text == "=":
                self.names[token.text] = value
            return
        value = self.expression()
        if value is None:
            return
        if isinstance(value.body, dict):
            named.update(value.body)
        values.append(value)
        if self.language.by_text and self.peek() == _AS:
            self._each_as(value)

    def _each_as(self, value: Value) -> None:
        """PHP: `foreach (values as $key => $value)`: the last name stands for what is in the list."""
        name = ""
        while self.peek().kind == "name" or self.peek().text == "=>":
            name = self.peek().text
            self.i += 1
        self.names[name] = value.items[0] if value.items else value._replace(items=None)

    # Names

    def _named(self, name: str) -> Value | None:
        following = self.peek()
        if name == "import" and self.language.imports and following.text != "(":
            self._import()
            return None
        if following.kind == "sign" and following.text in {"=", ":="}:
            self.i += 1
            value = self.expression()
            self.names[name] = value or NOTHING
            return value
        if following.kind == "sign" and following.text in {"+=", ".="}:
            self.i += 1
            added = self.expression()
            self.names[name] = concatenated([self.names.get(name, NOTHING), added or NOTHING])
            return None
        value = self.names.get(name) or Value(UNKNOWN, name)
        return self._after(value)

    def _import(self) -> None:
        """`import a, {b as c} from 'm'`."""
        names: list[str] = []
        while self.peek() is not _STOP and self.peek().kind not in {"text", "line"}:
            if self.peek().kind == "name":
                names.append(self.peek().text)
            self.i += 1
        module = self.language.module(self.peek().text)
        for name in names:
            inner = f"{module}.{name}"
            self.names[name] = Value(UNKNOWN, inner if inner in self.language.calls else module)

    def bind(self, names: dict[str, Value], value: Value) -> None:
        """`const {a, b: c} = module`."""
        for name, alias in names.items():
            target = alias.name or name
            self.names[target] = Value(UNKNOWN, f"{value.name}.{name}")

    # What follows a value

    def _after(self, value: Value) -> Value | None:
        while True:
            token = self.peek()
            if token.kind == "sign" and token.text in self.language.members and self.peek(1).kind == "name":
                self.i += 2
                value = self._member(value, self.peek(-1).text)
            elif token.text == "!" and "!" in self.language.members and self.peek(1).text == "(" and value.name:
                self.i += 1  # `File.rm!(...)` does what `File.rm(...)` does, or fails
            elif token.kind == "sign" and token.text == "(" and (value.name or value.body or self._by_text(value)):
                value = value if value.name or value.body else Value(UNKNOWN, value.text)
                self._lend(value)
                values, named = self._arguments(")")
                value = self._call(value, values, named)
            elif token.kind == "sign" and token.text in {"[", "{"} and self._subscripted(value, token.text):
                values, _ = self._arguments("]" if token.text == "[" else "}")
                value = self._item(value, values[0] if values else NOTHING)
            elif self.language.imports and token.kind == "text" and self._act(value.name) is not None:
                self.i += 1
                value = self._call(value, [self._literal(token)], {})  # JavaScript: `$`...``
            elif value.name in self.language.bare and self._begins_value(token):
                value = self._call(value, *self._bare_arguments())
            elif token.text == "=" and isinstance(value.body, dict):
                self.i += 1
                names = value.body
                value = self.expression() or NOTHING
                self.bind(names, value)
            else:
                return self._alone(value)

    def _by_text(self, value: Value) -> bool:
        return self.language.by_text and value.known and value.text in self.language.calls

    def _alone(self, value: Value) -> Value:
        """A name that nothing follows: a call in languages that need no brackets."""
        if value.owner is not None and self.language.calls_alone:
            self._lend(value)
            return self._call(value, [], {})
        if value.name in self.language.environment:
            return value._replace(origins=value.origins | {"environment"})
        return value

    def _lend(self, function: Value) -> None:
        """`list.each { |name| ... }`, `list.forEach(name => ...)`: the name stands for what is in the list."""
        if function.owner is None or function.name.rpartition(".")[2] not in _EACH:
            return
        ahead = [self.peek(index) for index in range(4)]
        at = next((at for at, token in enumerate(ahead) if token.kind == "name" and token.text not in _WORDS), 4)
        name, after = ahead[at].text if at < 4 else "", self.peek(at + 1).text
        if self._act(name) is not None or after in {"(", *self.language.members}:
            return  # a function by its name, `list.forEach(eval)`, or whatever gives one
        items, promised = function.owner.items, function.name.endswith(".then")
        if name and promised and any(token.text == "{" for token in ahead[:3]):
            self.names[name] = self._member(function.owner, name)  # `import("fs").then(({rm}) => ...)`
        elif name:
            kept = function.owner if promised else function.owner._replace(name="")
            self.names[name] = items[0] if items else kept._replace(items=None)

    def _subscripted(self, value: Value, sign: str) -> bool:
        return sign == "[" or value.name in {"$ENV", "%ENV"}

    def _begins_value(self, token: Token) -> bool:
        if token.text == "*" and self.peek(1).kind == "words":
            return True  # Ruby: `exec *%w(...)`
        return token.kind in {"text", "name", "number", "command", "glob", "words"} and token.text not in _WORDS

    def _bare_arguments(self) -> tuple[list[Value], dict[str, Value]]:
        values: list[Value] = []
        named: dict[str, Value] = {}
        while True:
            before = self.i
            self._argument(values, named)
            if self.peek().text != "," or self.i == before:
                return values, named
            self.i += 1
            while self.peek().kind == "line":
                self.i += 1

    def _member(self, owner: Value, name: str) -> Value:
        if owner.name in self.language.environment:
            return self.deeds.variable(text(name))
        if isinstance(owner.body, dict) and name in owner.body:
            found: Value = owner.body[name]
            return found
        if owner.name and owner.name[0] != "<":
            return mixed([owner])._replace(name=self.language.module(f"{owner.name}.{name}"), owner=owner)
        return mixed([owner])._replace(name=f"?.{name}", owner=owner)

    def _item(self, owner: Value, index: Value) -> Value:
        if owner.name in self.language.environment:
            return self.deeds.variable(index if index.known else text(index.name))
        if owner.items is not None:
            number = index.text.isascii() and index.text.isdigit() and len(index.text) < 6
            return owner.items[int(index.text)] if number and int(index.text) < len(owner.items) else mixed([owner])
        if owner.name[:1].isupper() and self._act(owner.name) is not None:
            return self._call(owner, [index], {})  # Ruby: `Dir["*"]`
        if owner.name and index.known and not index.text.isdigit():
            return self._member(owner, index.text)
        return owner if owner.known else mixed([owner])

    # Calls

    def _call(self, function: Value, values: list[Value], named: dict[str, Value]) -> Value:
        name, owner = function.name, function.owner
        call = Call(name, tuple(values), named, owner)
        method = name.replace("::", ".").rpartition(".")[2]
        if name in self.language.loads or method in {"_load", "const_get"}:
            module = call.first()
            return Value(UNKNOWN, self.language.module(module.text if module.known else module.name))
        if owner is not None and owner.name == "<response>" and method in _WHOLE:
            return owner
        about_owner = name.startswith("?.") and not values
        act = self._act(name) if not about_owner else None
        if act is not None:
            return act(self.deeds, call)
        handed = self._act(call.first().name) if owner is not None and method in _EACH else None
        if handed is not None and owner is not None:
            return handed(self.deeds, Call(call.first().name, (owner._replace(name=""),), {}))
        another = self._handed(call, method)
        if another is not None:
            act, call = another
            return act(self.deeds, call) if act is not None else Value(UNKNOWN, call.name, owner=call.owner)
        if owner is not None and method in METHODS:
            return METHODS[method](self.deeds, call)
        if owner is not None and f"?.{method}" in self.language.calls:
            values = [owner._replace(name="", owner=None), *values]
            return self.language.calls[f"?.{method}"](self.deeds, call._replace(values=tuple(values)))
        found = mixed([*([owner] if owner is not None else []), *values, *named.values()])
        return found._replace(name=name if method[:1].isupper() or method == "new" else "")

    def _handed(self, call: Call, method: str) -> tuple[Act | None, Call] | None:
        """`list.map(f)` is not here, nor what is only named by a text, unless this function takes such."""
        owner = call.owner
        if owner is not None and method in _INVOKES and (act := self._act(owner.name)) is not None:
            return act, Call(owner.name, given(list(call.values)), {}, owner.owner)
        if owner is not None and method in METHODS:
            return None
        texts = method in self.language.hands or call.name in self.language.hands

        def known(value: Value) -> Act | None:
            named = value.name or (value.text if value.known else "")
            beside = f"{owner.name}.{named}" if owner is not None else ""
            if texts:
                return self._act(beside) or self._act(named)
            return self._act(value.name) if is_function(value.name) else None

        return handed(call, known)

    def _act(self, name: str) -> Act | None:
        calls = self.language.calls
        return calls.get(name) or calls.get(self.language.module(name))
