"""Change one setting in the user's trotline.toml and preserve every other byte of the file."""

import os
import re
from pathlib import Path

from trotline.config.config_file import parse_toml
from trotline.config.install.installation import FileResult, InstallOutcome
from trotline.config.paths import CONFIG_FILE, Roots
from trotline.config.settings import STRICTEST
from trotline.domain.errors import TrotlineError, describe_os_error
from trotline.formats.toml_text import find_positions
from trotline.system.files import OWNER_ONLY, read_file, replace_file

_STRING = re.compile(r"""["']?[ \t]*=[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*')""")


def put_setting(roots: Roots, key: str, value: str, *, dry_run: bool = False) -> FileResult:
    """Write a setting. A default value is not written if the file does not mention the setting."""
    file = roots.config / CONFIG_FILE
    target = Path(os.path.realpath(file))
    if not target.is_relative_to(os.path.realpath(roots.home)):
        raise TrotlineError(f"`{file}` leads out of your home: it is `{target}`", hint="change that file yourself")
    try:
        before: bytes | None = read_file(target)
    except FileNotFoundError:
        before = None
    except OSError as error:
        raise TrotlineError(f"`{file}` cannot be read: {describe_os_error(error)}") from None
    after = _edit_setting(before, key, value, file)
    if after == before:
        return FileResult(target, InstallOutcome.NOTHING, before, before)
    if not dry_run and after is not None:
        _write(target, after)
    return FileResult(target, InstallOutcome.WRITTEN, before, after)


def _edit_setting(data: bytes | None, key: str, value: str, file: Path) -> bytes | None:
    parsed = parse_toml(data or b"")
    found = parsed.body.get(key)
    if found == value or (found is None and parsed.error is None and STRICTEST[key] == value):
        return data
    text = parsed.document.text
    positions = find_positions(text)
    written = _STRING.match(text, positions[key][1]) if key in positions else None
    if parsed.error is not None or (found is not None and written is None):
        hint = "`trotline check` shows where; put it right, or move it away"
        raise TrotlineError(f"`{file}` cannot be read, so nothing was changed in it", hint=hint)
    if written is not None:
        return f'{text[: written.start(1)]}"{value}"{text[written.end(1) :]}'.encode()
    newline = "\r\n" if "\r\n" in text else "\n"
    starts = [_find_line_start(text, positions[name][0]) for name in parsed.body if name in positions]
    at = min((start for start in starts if not text[start:].lstrip().startswith("[")), default=0)
    return f'{text[:at]}{key} = "{value}"{newline}{text[at:]}'.encode()


def _find_line_start(text: str, offset: int) -> int:
    return text.rfind("\n", 0, offset) + 1


def _write(target: Path, data: bytes) -> None:
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(target, data, mode=target.stat().st_mode & 0o777 if target.exists() else OWNER_ONLY)
    except OSError as error:
        raise TrotlineError(f"`{target}` cannot be written: {describe_os_error(error)}") from error
