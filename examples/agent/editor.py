"""A fake editor around an agent: it opens the workspace and completes lines with Tab.

Its events belong to no conversation of the agent.
"""

from pathlib import Path

from agent.tool_context import Workspace
from trotline import AfterTabFileEdit, BeforeTabFileRead, Engine, Session, TabEdit, WorkspaceOpen
from trotline.domain.event_records import Range


class Editor:
    """An editor. `plugins` are the directories that workspaceOpen hooks want loaded."""

    def __init__(self, engine: Engine, workspace: Workspace) -> None:
        self.workspace = workspace
        self.session = Session.create(engine, conversation_id="", background=False, model="tab")
        self.plugins: tuple[str, ...] = ()

    def open_workspace(self) -> None:
        self.plugins = self.session.fire(WorkspaceOpen()).plugin_paths

    def read_for_tab(self, name: str) -> str | None:
        """Return the content of a file for Tab; None if a hook refuses."""
        path = self.workspace.find(name)
        content = path.read_text("utf-8")
        return None if self.session.fire(BeforeTabFileRead(file_path=str(path), content=content)).is_denied else content

    def complete(self, name: str, number: int, ending: str) -> None:
        """Complete a line, counted from 1, with an ending."""
        path = self.workspace.find(name)
        lines = path.read_text("utf-8").splitlines(keepends=True)
        old = lines[number - 1].rstrip("\n")
        lines[number - 1] = f"{old}{ending}\n"
        path.write_text("".join(lines), "utf-8")
        self._fire_edit(path, number, old, ending)

    def _fire_edit(self, path: Path, number: int, old: str, ending: str) -> None:
        column = len(old) + 1
        position = Range(start_line_number=number, start_column=column, end_line_number=number, end_column=column)
        edit = TabEdit(old_string="", new_string=ending, range=position, old_line=old, new_line=old + ending)
        self.session.fire(AfterTabFileEdit(file_path=str(path), edits=(edit,)))
