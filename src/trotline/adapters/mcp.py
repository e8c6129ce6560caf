"""An adapter for MCP clients: `call_tool` fires events, everything else is the client's own."""

from typing import Any, Self, TypeVar, cast

try:
    from mcp import MCPError
    from mcp.types import REQUEST_TIMEOUT, CallToolResult, TextContent
except ImportError as error:
    raise ImportError("trotline.adapters.mcp needs the package `mcp`, version 2: pip install 'mcp>=2'") from error
from pydantic import ValidationError

from trotline.adapters.tool_call import (
    AskPerson,
    McpKind,
    ResultFormat,
    ToolCall,
    ToolInput,
    to_async_session,
    to_json,
)
from trotline.engine.session import AsyncSession, Session

C = TypeVar("C")


def guard_client(
    client: C, session: Session | AsyncSession, *, server: str, url: str | None = None, ask: AskPerson | None = None
) -> C:
    """Put a client session, or any object with its `call_tool`, under the hooks of a conversation.

    `server` is the server's name in events. A refused call is not sent and returns an error result.
    """
    return cast("C", _GuardedClient(client, to_async_session(session), server=server, url=url, ask=ask))


class McpFormat(ResultFormat[Any]):
    """Results of the library. A result that asks the client for input is returned unchanged."""

    def to_text(self, result: Any) -> str:
        """Return the whole result as JSON text."""
        return str(result.model_dump_json(by_alias=True, exclude_none=True))

    def get_error(self, result: Any) -> str:
        """Return the text blocks of an error result; the whole result if it has none."""
        if not isinstance(result, CallToolResult) or not result.is_error:
            return ""
        return "\n".join(block.text for block in result.content if isinstance(block, TextContent)) or self.to_text(
            result
        )

    def is_timeout(self, error: Exception) -> bool:
        """Check for a Python timeout or a timed-out request of the protocol."""
        return super().is_timeout(error) or (isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT)

    def build_refusal(self, message: str) -> Any:
        """Build an error result of the protocol."""
        return CallToolResult(is_error=True, content=[TextContent(text=message)])

    def replace_output(self, result: Any, output: dict[str, Any]) -> Any:  # noqa: ARG002 - the whole result is replaced
        """Use the output as a result of the protocol if it is one, otherwise as text and structured content."""
        try:
            return CallToolResult.model_validate(output)
        except ValidationError:
            return CallToolResult(content=[TextContent(text=to_json(output))], structured_content=output)

    def add_context(self, result: Any, context: str) -> Any:
        """Append a text block; a result that asks for input has no content and is returned unchanged."""
        if not isinstance(result, CallToolResult):
            return result
        return result.model_copy(update={"content": [*result.content, TextContent(text=context)]})


class _GuardedClient:
    """Delegates everything to the client, including assignments, except `call_tool`."""

    def __init__(
        self, client: Any, session: AsyncSession, *, server: str, url: str | None = None, ask: AskPerson | None = None
    ) -> None:
        vars(self).update(_client=client, _session=session, _server=server, _url=url, _ask=ask)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # `copy` reads these before there is a client
        return getattr(vars(self)["_client"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["_client"], name, value)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> Any:
        return await self._client.__aexit__(*error)

    async def call_tool(self, name: str, arguments: ToolInput | None = None, *rest: Any, **more: Any) -> Any:
        kind = McpKind(self._session, name, server=self._server, url=self._url)
        original = arguments or {}
        call = ToolCall(self._session, kind.tool_name, original, kind=kind, ask=self._ask)

        async def run(tool_input: ToolInput) -> Any:
            # Pass unchanged arguments on in their original form, because None and {} may differ to the client.
            return await self._client.call_tool(
                name, arguments if tool_input is original else tool_input, *rest, **more
            )

        return await call.execute(run, McpFormat())
