"""A chat model of LangChain that says what a test told it to, calls tools, and keeps what it was asked."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

Line = str | AIMessage | Exception | Callable[[list[BaseMessage]], AIMessage]


def calls(name: str, /, **arguments: Any) -> AIMessage:
    """An answer that calls one tool."""
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": str(uuid4())}])


class ScriptedModel(BaseChatModel):
    """Answers line by line; a line may look at the messages first."""

    lines: list[Any] = Field(default_factory=list)
    asked: list[list[BaseMessage]] = Field(default_factory=list)
    tools: list[dict[str, Any]] = Field(default_factory=list)

    def say(self, *lines: Line) -> None:
        self.lines.extend(lines)

    @property
    def system(self) -> str:
        """What the system message of the last request said."""
        return "\n".join(each.text for each in self.asked[-1] if each.type == "system")

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "ScriptedModel":
        self.tools[:] = [convert_to_openai_tool(tool)["function"] for tool in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        self.asked.append(messages)
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        said = (
            AIMessage(line)
            if isinstance(line, str)
            else line
            if isinstance(line, AIMessage)
            else line(messages)
        )
        return ChatResult(generations=[ChatGeneration(message=said.model_copy(deep=True))])

    @property
    def _llm_type(self) -> str:
        return "scripted"
