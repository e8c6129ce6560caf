"""A double of the editor around an agent: it opens the workspace, and completes lines with Tab.

Its events belong to no conversation of the agent.
"""

from pathlib import Path

from agent.hand import Workspace
from trotline import Engine, Session, TabEdit
from trotline.parts import Range


class Editor:
    """What a person types in. `plugins` are the directories that workspaceOpen hooks want loaded."""

    def __init__(self, engine: Engine, workspace: Workspace) -> None:
        self.workspace = workspace
        self.session = Session.of(engine, conversation_id="", background=False, model="tab")
        self.plugins: tuple[str, ...] = ()

    def open_workspace(self) -> None:
        self.plugins = self.session.workspace_open().plugin_paths

    def read_for_tab(self, name: str) -> str | None:
        """What Tab may know of a file; nothing if a hook refuses."""
        path = self.workspace.find(name)
        content = path.read_text("utf-8")
        return None if self.session.before_tab_file_read(str(path), content).denied else content

    def complete(self, name: str, number: int, ending: str) -> None:
        """The person presses Tab at the end of a line, counted from 1, and gets the ending."""
        path = self.workspace.find(name)
        lines = path.read_text("utf-8").splitlines(keepends=True)
        old = lines[number - 1].rstrip("\n")
        lines[number - 1] = f"{old}{ending}\n"
        path.write_text("".join(lines), "utf-8")
        self._tell(path, number, old, ending)

    def _tell(self, path: Path, number: int, old: str, ending: str) -> None:
        column = len(old) + 1
        place = Range(start_line_number=number, start_column=column, end_line_number=number, end_column=column)
        edit = TabEdit(old_string="", new_string=ending, range=place, old_line=old, new_line=old + ending)
        self.session.after_tab_file_edit(str(path), [edit])
