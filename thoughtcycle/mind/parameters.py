"""Parameters that a request asks for where the model takes them (TC-14)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.exceptions import ContextOverflowError

from thoughtcycle.mind.model_settings import OPENAI, Endpoint
from thoughtcycle.mind.refusals import Parameter, Refusals

EFFORT = "low"
"""Effort of a role for which none is set: the first word waits for it."""

_STATUSES = frozenset({400, 404, 415, 422, 500, 501})
_NAMED: dict[Parameter, re.Pattern[str]] = {
    "temperature": re.compile("temperature", re.IGNORECASE),
    "reasoning_effort": re.compile("reasoning|thinking", re.IGNORECASE),
    "max_tokens": re.compile("max.?(completion.?)?tokens", re.IGNORECASE),
    "response_format": re.compile(
        "response.?format|json.?schema|json_validate|structured.?output|grammar|guided", re.IGNORECASE
    ),
}
_IN_BODY = ("response_format", "max_tokens")
"""As an argument, the one makes the client parse the answer itself, the other gets a name of OpenAI's own."""


@dataclass(frozen=True)
class Parameters:
    """Optional parameters of one call; what a model refuses by name is left out from then on."""

    wanted: Mapping[Parameter, Any]
    """`max_tokens`: those beside the reply's own."""
    refusals: Refusals

    async def accepted(self, endpoint: Endpoint) -> dict[str, Any]:
        """Those that the model at `endpoint` is not known to refuse, as arguments of its client."""
        sent: dict[str, Any] = {}
        for name, value in self.wanted.items():
            if value is None or await self.refusals.holds(name, endpoint):
                continue
            if name == "reasoning_effort":
                value = endpoint.effort or value
            elif name == "max_tokens":
                value += endpoint.reply_tokens
            if name in _IN_BODY and not (name == "max_tokens" and endpoint.host == OPENAI):
                sent.setdefault("extra_body", {})[name] = value
            else:
                sent[name] = value
        return sent

    async def learn(self, error: Exception, sent: Mapping[str, Any], endpoint: Endpoint) -> bool:
        """Remembers those of `sent` that an error names; whether the request can be made again without."""
        names = refused(error, {*sent, *sent.get("extra_body", ())})
        for name in names:
            await self.refusals.learn(name, endpoint)
        return bool(names)


def refused(error: Exception, sent: set[str]) -> list[Parameter]:
    """The parameters that a server's refusal names, in its field `param` or else in its words."""
    if isinstance(error, ContextOverflowError) or getattr(error, "status_code", None) not in _STATUSES:
        return []
    told = getattr(error, "param", None) or f"{error} {getattr(error, 'body', '')}"
    return [name for name, called in _NAMED.items() if name in sent and called.search(str(told))]
