"""Several rules in one file: commands, MCP tools, reads, prompts, and an agent that stops too early."""

from pathlib import PurePath

from trotline import Verdict, deny, follow_up, on, run
from trotline.domain.events import BeforeMCP, BeforeReadFile, BeforeShell, BeforeSubmitPrompt, BeforeTabFileRead, Stop


@on.before_shell(matching=r"\brm\s+-\w*r\w*f|\brm\s+-\w*f\w*r", fail_closed=True)
def deny_mass_deletion(event: BeforeShell) -> Verdict:
    return deny("This would delete a whole tree.", to_agent=f"Delete single files instead of: {event.command}")


@on.before_mcp(matching="^(delete|drop|destroy)_")
def deny_destructive_tools(event: BeforeMCP) -> Verdict:
    return deny(f"The tool {event.tool_name} destroys things.")


@on.file_read
def deny_secret_files(event: BeforeReadFile | BeforeTabFileRead) -> Verdict | None:
    path = PurePath(event.file_path)
    secret = path.name == ".env" or path.suffix == ".pem" or "secrets" in path.parts
    return deny(f"{path.name} stays with us.") if secret else None


@on.before_submit_prompt
def deny_code_names(event: BeforeSubmitPrompt) -> Verdict | None:
    return deny("The project's code name does not leave the house.") if "nightjar" in event.prompt.lower() else None


@on.stop
def request_tests(event: Stop) -> Verdict | None:
    if event.status == "completed" and event.loop_count == 0:
        return follow_up("Run the tests once more, and fix what fails.")
    return None


if __name__ == "__main__":
    run()
