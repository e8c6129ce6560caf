"""Patterns that are compiled when they are first used."""

import copy
import importlib
import pkgutil
import re
from types import ModuleType
from typing import Any

import pytest

import trotline
from trotline.formats.lazy_regex import LazyRegex, lazy_regex


def modules() -> list[ModuleType]:
    names = [found.name for found in pkgutil.walk_packages(trotline.__path__, "trotline.")]
    return [importlib.import_module(name) for name in names if "__main__" not in name and ".plugin" not in name]


def patterns_in(value: Any) -> list[LazyRegex]:
    if isinstance(value, LazyRegex):
        return [value]
    if isinstance(value, dict):
        return [found for one in value.values() for found in patterns_in(one)]
    if isinstance(value, list | tuple):
        return [found for one in value for found in patterns_in(one)]
    return []


def test_every_lazy_pattern_compiles() -> None:
    found = [one for module in modules() for value in list(vars(module).values()) for one in patterns_in(value)]
    assert len(found) > 50
    for one in found:
        assert re.compile(*one._arguments).pattern == one.pattern


@pytest.mark.parametrize("text,flags", [(r"(\w+)-(\d*)", 0), ("^a.*$", re.MULTILINE | re.IGNORECASE)])
def test_a_lazy_pattern_behaves_like_a_compiled_one(text: str, flags: int) -> None:
    later, compiled = lazy_regex(text, flags), re.compile(text, flags)
    given = "ab-12 cd-\nA x"
    for _ in range(2):  # before and after it was compiled
        assert later.findall(given) == compiled.findall(given)
        assert later.sub("<>", given) == compiled.sub("<>", given)
        assert [found.span() for found in later.finditer(given)] == [found.span() for found in compiled.finditer(given)]
        assert (later.pattern, later.flags) == (compiled.pattern, compiled.flags)


def test_it_can_be_copied() -> None:
    assert copy.deepcopy(lazy_regex("a+")).fullmatch("aa")


def test_an_invalid_pattern_is_reported_at_first_use() -> None:
    wrong = lazy_regex("(")
    with pytest.raises(re.error, match="unterminated"):
        wrong.match("")
