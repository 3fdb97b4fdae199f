"""The chat model of the examples: an OpenAI-compatible one where a key is set, else one without thoughts."""

import os
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI


class Keyless(BaseChatModel):
    """Calls the tools that an example names, then says what it was told: by a tool, else by the system."""

    calls: list[dict[str, Any]]

    def bind_tools(self, tools: Any, **_: Any) -> "Keyless":
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        if self.calls:
            said = AIMessage("", tool_calls=[self.calls.pop(0)])
        else:
            told = [each.text for each in messages if each.type in ("system", "tool")]
            said = AIMessage(f"I was told: {told[-1] if told else 'nothing'}")
        return ChatResult(generations=[ChatGeneration(message=said)])

    @property
    def _llm_type(self) -> str:
        return "keyless"


def chat_model(*calls: tuple[str, dict[str, Any]]) -> BaseChatModel:
    """The model; one without a key makes these calls of (tool, arguments) first."""
    if os.environ.get("OPENAI_API_KEY"):
        return ChatOpenAI(model=os.environ.get("OPENAI_MODEL", "gpt-5-mini"))
    return Keyless(calls=[{"name": name, "args": args, "id": name} for name, args in calls])
