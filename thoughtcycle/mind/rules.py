"""The mind without a model: every question has a rule that answers it."""

import asyncio
from typing import TypeVar

from langchain_core.messages import AIMessage
from pydantic import TypeAdapter

from thoughtcycle.errors import ModelFailed
from thoughtcycle.mind.base import Mind, Question, View
from thoughtcycle.mind.streaming import OnText, speak

T = TypeVar("T")

LONG = 4_000
"""Characters of a message; the rules read a longer one off the event loop."""


class RuleMind(Mind):
    """Answers by word lists and patterns: no model, no key, no network, no tokens."""

    by_rules = True

    async def ask(self, question: Question[T], view: View) -> T:
        """See Mind.ask. Raises ModelFailed `beyond_rules` when the question has no rule for this."""
        answer = await self._by_rules(question, view)
        valid: T = TypeAdapter(question.schema).validate_python(answer)
        return valid

    async def reply(
        self,
        question: Question[str],
        view: View,
        *,
        chat_history: bool,
        modal: str = "text",
        on_text: OnText | None = None,
    ) -> AIMessage:
        """See Mind.reply."""
        text = await self._by_rules(question, view)
        return await speak(text, chat_history=chat_history, modal=modal, on_text=on_text, name=question.name)

    async def _by_rules(self, question: Question[T], view: View) -> T:
        if len(view.message) > LONG:
            answer = await asyncio.to_thread(question.by_rules, view)
        else:
            answer = question.by_rules(view)
        if answer is None:
            raise ModelFailed("beyond_rules", question=question.name)
        return answer
