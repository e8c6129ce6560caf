"""The records that events contain.

They have no docstrings, because msgspec would copy those into the published schemas.
"""

import msgspec


class ModelParam(msgspec.Struct, frozen=True):
    id: str = ""
    value: str = ""


class Attachment(msgspec.Struct, frozen=True):
    type: str = "file"
    file_path: str = ""


class Edit(msgspec.Struct, frozen=True):
    old_string: str = ""
    new_string: str = ""


class Range(msgspec.Struct, frozen=True):
    start_line_number: int = 0
    start_column: int = 0
    end_line_number: int = 0
    end_column: int = 0


class TabEdit(msgspec.Struct, frozen=True):
    old_string: str = ""
    new_string: str = ""
    range: Range = Range()
    old_line: str = ""
    new_line: str = ""
