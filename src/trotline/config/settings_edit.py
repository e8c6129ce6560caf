"""One word in the person's settings.json, changed for them. Whatever else stands in the file stays, to the byte."""

import os
from pathlib import Path

from trotline.config.draft import Draft, as_json
from trotline.config.edit import BOM
from trotline.config.files import content
from trotline.config.installation import Done, Installed
from trotline.config.jsonc import Kind
from trotline.config.jsonc_reader import read
from trotline.config.models import ACCEPTED_HERE
from trotline.config.places import Roots
from trotline.config.settings import STRICTEST
from trotline.config.whole_file import OWNER_ONLY, put
from trotline.errors import TrotlineError


def put_setting(roots: Roots, key: str, value: str, *, dry_run: bool = False) -> Installed:
    """The file says this from now on; a default that it does not mention need not be written."""
    file = roots.config / "settings.json"
    target = Path(os.path.realpath(file))
    if not target.is_relative_to(os.path.realpath(roots.home)):
        raise TrotlineError(f"`{file}` leads out of your home: it is `{target}`", hint="change that file yourself")
    try:
        before: bytes | None = content(target)[0]
    except FileNotFoundError:
        before = None
    except OSError as error:
        raise TrotlineError(f"`{file}` cannot be read: {(error.strerror or str(error)).lower()}") from None
    after = _with(before, key, value, file)
    if after == before:
        return Installed(target, Done.NOTHING, before, before)
    if not dry_run and after is not None:
        _write(target, after)
    return Installed(target, Done.WRITTEN, before, after)


def _with(data: bytes | None, key: str, value: str, file: Path) -> bytes | None:
    if data is None or not data.removeprefix(BOM).strip():
        return data if STRICTEST[key] == value else (as_json({key: value}, indent=2) + "\n").encode()
    document = read(data)
    faults = [fault for fault in document.faults if fault.code not in ACCEPTED_HERE]
    if faults or document.root is None or document.root.kind is not Kind.OBJECT:
        hint = "`trotline check` shows where; put it right, or move it away"
        raise TrotlineError(f"`{file}` cannot be read, so nothing was changed in it", hint=hint)
    draft = Draft(document)
    member = document.root.members.get(key)
    if member is not None and member.value.value != value:
        draft.replace(member.value, value)
    elif member is None and STRICTEST[key] != value:
        draft.append(document.root, [(key, value)], document.root.start)
    return (BOM if data.startswith(BOM) else b"") + draft.result().encode()


def _write(target: Path, data: bytes) -> None:
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        put(target, data, mode=target.stat().st_mode & 0o777 if target.exists() else OWNER_ONLY)
    except OSError as error:
        raise TrotlineError(f"`{target}` cannot be written: {(error.strerror or str(error)).lower()}") from error
