"""Command words that shfmt, an independent shell parser, reads in a line, for comparison with Trotline's parser."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from trotline.analysis.shell import syntax
from trotline.analysis.shell.shell_escapes import decode_escapes

SHFMT = str(Path(sys.executable).parent / "shfmt")
MARK = "__between_lines"
UNREADABLE = None
Words = list[str]


def is_available() -> bool:
    return shutil.which(SHFMT) is not None


def read_by_shfmt(lines: Sequence[str], size: int = 64) -> list[Words | None]:
    """Return for each line the first words of its commands, or None if shfmt cannot read it.

    One process reads many lines with marks between them; if that fails, the lines are read in smaller groups.
    """
    words_by_line: list[Words | None] = []
    for begin in range(0, len(lines), size):
        words_by_line += read_group(lines[begin : begin + size])
    return words_by_line


def read_group(lines: Sequence[str]) -> list[Words | None]:
    text = f"\n{MARK}\n".join(lines)
    tree = parse_with_shfmt(text)
    if tree is not None:
        parts: list[list[dict[str, Any]]] = [[]]
        for statement in tree.get("Stmts") or []:
            if is_mark(statement):
                parts.append([])
            else:
                parts[-1].append(statement)
        if len(parts) == len(lines):
            return [[word for _, word in sorted(iterate_first_words(part), key=lambda one: one[0])] for part in parts]
    if len(lines) == 1:
        return [UNREADABLE]
    half = len(lines) // 2
    return read_group(lines[:half]) + read_group(lines[half:])


def parse_with_shfmt(text: str) -> dict[str, Any] | None:
    data = text.encode("utf-8", "replace")
    done = subprocess.run(
        [SHFMT, "--language-dialect", "bash", "--to-json"], input=data, capture_output=True, check=False
    )
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout else None


def is_mark(statement: dict[str, Any]) -> bool:
    words = (statement.get("Cmd") or {}).get("Args") or []
    return len(words) == 1 and [part.get("Value") for part in words[0].get("Parts", [])] == [MARK]


def iterate_first_words(node: Any) -> Iterator[tuple[int, str]]:
    if isinstance(node, list):
        for inner in node:
            yield from iterate_first_words(inner)
    if not isinstance(node, dict):
        return
    kind = node.get("Type")
    if kind == "CallExpr" and node.get("Args"):
        word = node["Args"][0]
        yield word["Pos"]["Offset"], get_literal(word)
    elif kind == "DeclClause":
        yield (
            node["Variant"]["Pos"]["Offset"] if "Pos" in node["Variant"] else node["Pos"]["Offset"],
            node["Variant"]["Value"],
        )
    elif kind == "LetClause":
        yield node["Pos"]["Offset"], "let"
    for value in node.values():
        yield from iterate_first_words(value)


def get_literal(word: dict[str, Any]) -> str:
    texts = []
    for part in word["Parts"]:
        if part["Type"] == "Lit":
            texts.append(
                re.sub(
                    r"\\(\n|.)",
                    lambda match: "" if match[1] == "\n" else match[1],
                    part.get("Value", ""),
                    flags=re.DOTALL,
                )
            )
        elif part["Type"] == "SglQuoted":
            value = part.get("Value", "")
            texts.append(decode_escapes(value) if part.get("Dollar") else value)
        elif part["Type"] == "DblQuoted" and all(inner["Type"] == "Lit" for inner in part.get("Parts") or []):
            value = "".join(inner.get("Value", "") for inner in part.get("Parts") or [])
            texts.append(re.sub(r'\\([$`"\\\n])', lambda match: "" if match[1] == "\n" else match[1], value))
        else:
            return "?"
    return "".join(texts)


# Trotline's parser


def read_own_words(script: syntax.ShellScript) -> Words:
    return [word for _, word in sorted(iterate_script_words(script), key=lambda one: one[0])]


def iterate_script_words(script: syntax.ShellScript) -> Iterator[tuple[int, str]]:
    for pipeline in script.pipelines:
        for stage in pipeline.stages:
            yield from iterate_words(stage)


def iterate_words(node: Any) -> Iterator[tuple[int, str]]:
    if isinstance(node, syntax.ShellScript):
        yield from iterate_script_words(node)
        return
    if isinstance(node, syntax.ShellCommand) and node.words:
        first = node.words[0]
        literal = all(isinstance(piece, syntax.LiteralPiece) for piece in first.pieces)
        yield first.start, "".join(piece.value for piece in first.pieces) if literal else "?"  # type: ignore[union-attr]
    if isinstance(node, tuple | list):
        for inner in node:
            yield from iterate_words(inner)
