"""An MCP client whose tool calls are judged. What does not go through its `call_tool` is not heard.

The object is the caller's own in all but that one method, so an agent's loop does not know that it is there.
"""

from typing import Any, Self, TypeVar, cast

try:
    from mcp import MCPError
    from mcp.types import REQUEST_TIMEOUT, CallToolResult, TextContent
except ImportError as error:
    raise ImportError("trotline.adapters.mcp needs the package `mcp`, version 2: pip install 'mcp>=2'") from error
from pydantic import ValidationError

from trotline.adapters.call import Ask, Call, Input, Mcp, Shape, awaitable, json_text
from trotline.awaited import AsyncSession
from trotline.session import Session

C = TypeVar("C")


def guarded(
    client: C, session: Session | AsyncSession, *, server: str, url: str | None = None, ask: Ask | None = None
) -> C:
    """A client session, or whatever else has its `call_tool`, under the hooks of a conversation.

    `server` is what hooks shall know it by. A refused call never leaves, and comes back as an error result.
    """
    return cast("C", _Guarded(client, awaitable(session), server=server, url=url, ask=ask))


class Results(Shape[Any]):
    """Results as the library has them. One that is still a question of the server's is handed on as it is."""

    def text(self, result: Any) -> str:
        return str(result.model_dump_json(by_alias=True, exclude_none=True))

    def failure(self, result: Any) -> str:
        if not isinstance(result, CallToolResult) or not result.is_error:
            return ""
        return "\n".join(block.text for block in result.content if isinstance(block, TextContent)) or self.text(result)

    def timed_out(self, error: Exception) -> bool:
        return super().timed_out(error) or (isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT)

    def refused(self, message: str) -> Any:
        return CallToolResult(is_error=True, content=[TextContent(text=message)])

    def replaced(self, result: Any, output: dict[str, Any]) -> Any:  # noqa: ARG002 - all of it is replaced
        """A hook may answer with a whole result, in the protocol's own words, or with any object."""
        try:
            return CallToolResult.model_validate(output)
        except ValidationError:
            return CallToolResult(content=[TextContent(text=json_text(output))], structured_content=output)

    def noted(self, result: Any, context: str) -> Any:
        if not isinstance(result, CallToolResult):
            return result
        return result.model_copy(update={"content": [*result.content, TextContent(text=context)]})


class _Guarded:
    """Everything is the client's, its attributes and their assignment too; only `call_tool` is ours."""

    def __init__(
        self, client: Any, session: AsyncSession, *, server: str, url: str | None = None, ask: Ask | None = None
    ) -> None:
        vars(self).update(_client=client, _session=session, _server=server, _url=url, _ask=ask)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # copying asks for these before there is a client
        return getattr(vars(self)["_client"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["_client"], name, value)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *trouble: object) -> Any:
        return await self._client.__aexit__(*trouble)

    async def call_tool(self, name: str, arguments: Input | None = None, *rest: Any, **more: Any) -> Any:
        kind = Mcp(self._session, name, server=self._server, url=self._url)
        asked = arguments or {}
        call = Call(self._session, kind.tool_name, asked, kind=kind, ask=self._ask)

        async def run(given: Input) -> Any:
            return await self._client.call_tool(name, arguments if given is asked else given, *rest, **more)

        return await call.make(run, Results())
