"""A server that speaks OpenAI's protocol and says what a test told it to.

    fake_openai.say("MemorySearch", '["nome"]', Reply("Olá, Ana!", cut_after=2), Status(429))

Behaviours are used up in order, each by one chat request; `say(..., model="x")` queues them for the
requests of one model (chat or embeddings). With nothing queued, `answer` decides; without it the
server says 500 and why.
"""

import asyncio
import base64
import json
import re
import threading
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

DIMENSIONS = 64


@dataclass(frozen=True)
class ToolCall:
    """A tool that an answer calls; arguments of type `str` are sent as they are, valid or not."""

    name: str
    arguments: Any = field(default_factory=dict)

    @property
    def text(self) -> str:
        given = self.arguments
        return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


@dataclass(frozen=True)
class Reply:
    """A chat answer; tokens are its words."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    """Tool calls after the text; streamed in pieces."""
    numbered: bool = True
    """Whether calls have ids and an index of their own; some servers give every call the index 0."""
    finish: str | None = "stop"
    cut_after: int | None = None
    """Drop the connection after so many tokens."""
    end_after: int | None = None
    """End cleanly but early after so many tokens: no finish_reason, no [DONE]."""
    delay: float = 0.0
    """Seconds before anything is sent."""
    per_token: float = 0.0
    """Seconds before each token but the first."""
    hang_after: int | None = None
    """Fall silent after so many tokens."""
    hold_after: int | None = None
    """Wait after so many tokens until the test lets the server `go_on`."""
    usage: bool = True
    pieces: tuple[str, ...] = ()
    """Tokens as they are, in the place of the words; halves of a character may be among them."""
    endless: bool = False
    """The tokens again and again, until the client leaves."""

    @property
    def tokens(self) -> list[str]:
        if self.pieces:
            return [*self.pieces]
        words = re.findall(r"\s*\S+", self.text)
        limit = min(
            (n for n in (self.cut_after, self.end_after, self.hang_after) if n is not None), default=None
        )
        return words[:limit]

    @property
    def whole(self) -> bool:
        return self.cut_after is None and self.end_after is None and self.hang_after is None


@dataclass(frozen=True)
class Status:
    """An error answer; its body echoes the key, as some servers do."""

    code: int
    retry_after: str | None = None
    message: str = "raw body"


@dataclass(frozen=True)
class Hang:
    """No answer at all."""


@dataclass(frozen=True)
class Raw:
    """Any 200 answer, e.g. a web page."""

    body: str
    media_type: str = "text/html"


Behaviour = Reply | Status | Hang | Raw | ToolCall | str


@dataclass
class Recorded:
    """One request that arrived."""

    path: str
    body: dict[str, Any]
    authorization: str
    at: float = field(default_factory=time.monotonic)
    first_chunk_at: float | None = None
    """When the first token was handed to the connection (time.monotonic, same process)."""

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    def text(self, role: str) -> str:
        """What the messages of `role` (system, user, assistant) say."""
        said = [each["content"] or "" for each in self.body.get("messages", []) if each["role"] == role]
        return "\n".join(part if isinstance(part, str) else json.dumps(part) for part in said)

    @property
    def prompt(self) -> str:
        """All that the messages say."""
        return "\n".join(str(each["content"] or "") for each in self.body.get("messages", []))


class _Dropped(Exception):
    """Raised in the middle of an answer: the server then drops the connection."""


class FakeOpenAI:
    """A context manager: the server runs in a thread while it is open."""

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.answer: Callable[[Recorded], Behaviour] | None = None
        self.embeddings: Status | Hang | None = None
        """Answers every request of `/v1/embeddings`, as a server does that has none."""
        self.on_silence: Callable[[], object] | None = None
        """Called, on the server's thread, when it has fallen silent without a word."""
        self.models: tuple[str, ...] = ()
        """What `/v1/models` lists."""
        self.strict = False
        """Whether it applies the rules of common chat templates."""
        self._go_on = threading.Event()
        self._queues: dict[str | None, deque[Behaviour]] = defaultdict(deque)
        routes = [
            Route("/v1/chat/completions", self._chat, methods=["POST"]),
            Route("/v1/models", self._listed, methods=["GET"]),
            Route("/v1/embeddings", self._embeddings, methods=["POST"]),
        ]
        config = uvicorn.Config(Starlette(routes=routes), port=0, log_level="critical", lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> "FakeOpenAI":
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        self.port: int = self._server.servers[0].sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join(5)

    @property
    def url(self) -> str:
        """The base URL, as a client wants it."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def say(self, *behaviours: Behaviour, model: str | None = None) -> None:
        """Queues behaviours, for any chat request or for the requests of one model."""
        self._queues[model].extend(behaviours)

    def reset(self) -> None:
        """Forgets all that was queued and recorded."""
        self.requests.clear()
        self._queues.clear()
        self.answer = self.embeddings = None
        self.strict = False
        self.models = ()
        self._go_on = threading.Event()

    def go_on(self) -> None:
        """Ends the waiting of replies that are held, now and later."""
        self._go_on.set()

    @property
    def left(self) -> int:
        """How many queued behaviours nobody asked for."""
        return sum(map(len, self._queues.values()))

    def _template(self, recorded: Recorded) -> str | None:
        return strict_template(recorded.body["messages"]) if self.strict else None

    async def _recorded(self, request: Request) -> Recorded:
        recorded = Recorded(request.url.path, await request.json(), request.headers.get("authorization", ""))
        self.requests.append(recorded)
        return recorded

    async def _chat(self, request: Request) -> Response:
        recorded = await self._recorded(request)
        queue = self._queues[recorded.model] or self._queues[None]
        behaviour = queue.popleft() if queue else self.answer(recorded) if self.answer else None
        if (refusal := self._template(recorded)) is not None:
            return _error(400, refusal)
        if behaviour is None:
            asked = recorded.text("system")[:200]
            return _error(500, f"the fake server has nothing to say to {recorded.model}: {asked!r}")
        reply = Reply(behaviour) if isinstance(behaviour, str) else behaviour
        if isinstance(reply, ToolCall):
            reply = Reply(calls=(reply,))
        if not isinstance(reply, Reply):
            return await self._refusal(reply, request, recorded)
        await asyncio.sleep(reply.delay)
        if recorded.stream:
            return StreamingResponse(self._events(reply, recorded), media_type="text/event-stream")
        return await self._plain(reply, request, recorded)

    async def _listed(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": name} for name in self.models]})

    async def _embeddings(self, request: Request) -> Response:
        recorded = await self._recorded(request)
        if self.embeddings is not None:
            return await self._refusal(self.embeddings, request, recorded)
        queue = self._queues[recorded.model]
        if queue and isinstance(behaviour := queue.popleft(), Status | Hang | Raw):
            return await self._refusal(behaviour, request, recorded)
        given = recorded.body["input"]
        rows = [vector(text) for text in ([given] if isinstance(given, str) else given)]
        encode = _base64 if recorded.body.get("encoding_format") == "base64" else np.ndarray.tolist
        data = [{"object": "embedding", "index": n, "embedding": encode(row)} for n, row in enumerate(rows)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return JSONResponse({"object": "list", "model": recorded.model, "data": data, "usage": usage})

    async def _refusal(
        self, behaviour: Status | Hang | Raw, request: Request, recorded: Recorded
    ) -> Response:
        if isinstance(behaviour, Raw):
            return Response(behaviour.body, media_type=behaviour.media_type)
        if isinstance(behaviour, Status):
            headers = {"retry-after": behaviour.retry_after} if behaviour.retry_after else None
            return _error(behaviour.code, f"{behaviour.message} with {recorded.authorization}", headers)
        return await self._silence(request)

    async def _silence(self, request: Request) -> Response:
        self._silent()
        while (await request.receive())["type"] != "http.disconnect":
            pass
        return Response()

    async def _plain(self, reply: Reply, request: Request, recorded: Recorded) -> Response:
        if reply.hold_after is not None:
            await self._held()
        if reply.hang_after is not None:
            return await self._silence(request)
        message: dict[str, Any] = {"role": "assistant", "content": "".join(reply.tokens) or None}
        if reply.calls:
            message["tool_calls"] = [_call(number, call) for number, call in enumerate(reply.calls)]
        finish = (reply.finish and _finish(reply)) if reply.whole else None
        body = _body(recorded, "chat.completion", [{"index": 0, "message": message, "finish_reason": finish}])
        if reply.usage:
            body["usage"] = _usage(recorded, reply)
        recorded.first_chunk_at = time.monotonic()
        if reply.cut_after is None:
            return Response(json.dumps(body), media_type="application/json")  # may hold half a character
        return StreamingResponse(_half(json.dumps(body)), media_type="application/json")

    async def _events(self, reply: Reply, recorded: Recorded) -> AsyncIterator[str]:
        def event(delta: dict[str, Any], finish: str | None = None) -> str:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return _line(_body(recorded, "chat.completion.chunk", [choice]))

        yield event({"role": "assistant", "content": ""})
        for number, token in enumerate(reply.tokens):
            if number:
                await asyncio.sleep(reply.per_token)
            if number == reply.hold_after:
                await self._held()
            recorded.first_chunk_at = recorded.first_chunk_at or time.monotonic()
            yield event({"content": token})
        while reply.endless:
            yield event({"content": "".join(reply.tokens)})
            await asyncio.sleep(0)
        for number, call in enumerate(reply.calls if reply.whole else ()):
            await asyncio.sleep(reply.per_token)
            recorded.first_chunk_at = recorded.first_chunk_at or time.monotonic()
            for piece in _call_pieces(number, call, numbered=reply.numbered):
                yield event({"tool_calls": [piece]})
        if reply.hang_after is not None:
            if not reply.hang_after:
                self._silent()
            await asyncio.Event().wait()
        if reply.cut_after is not None:
            await asyncio.sleep(0)
            raise _Dropped
        if reply.end_after is not None:
            return
        yield event({}, reply.finish and _finish(reply))
        if reply.usage and (recorded.body.get("stream_options") or {}).get("include_usage"):
            yield _line({**_body(recorded, "chat.completion.chunk", []), "usage": _usage(recorded, reply)})
        yield "data: [DONE]\n\n"

    async def _held(self) -> None:
        go_on = self._go_on
        while not go_on.is_set():
            await asyncio.sleep(0.01)

    def _silent(self) -> None:
        if self.on_silence is not None:
            self.on_silence()


def _finish(reply: Reply) -> str | None:
    return "tool_calls" if reply.calls else reply.finish


def _call(number: int, call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.text}
    return {"index": number, "id": f"call_{number}", "type": "function", "function": function}


def _call_pieces(number: int, call: ToolCall, *, numbered: bool) -> list[dict[str, Any]]:
    """The call as it is streamed: its name, then its arguments in three pieces."""
    first, cut = _call(number, call), max(1, len(call.text) // 3)
    first["function"]["arguments"] = ""
    if not numbered:
        first["index"] = 0
        del first["id"]
    rest = [call.text[place : place + cut] for place in range(0, len(call.text), cut)]
    index = first["index"]
    return [first, *({"index": index, "function": {"arguments": text}} for text in rest)]


def strict_template(messages: list[dict[str, Any]]) -> str | None:
    """Why the chat templates of Qwen, Gemma and Mistral refuse these messages; None: they take them."""
    if any(each["role"] == "system" for each in messages[1:]):
        return "System message must be at the beginning."
    spoken = [each for each in messages if each["role"] != "system"]
    turns = [each["role"] for each in spoken if each["role"] != "tool" and not each.get("tool_calls")]
    if any(role != ("user", "assistant")[place % 2] for place, role in enumerate(turns)):
        return "Conversation roles must alternate user/assistant/user/assistant/..."
    waiting: set[str] = set()
    for each in spoken:
        if each["role"] == "tool" and each["tool_call_id"] not in waiting:
            return "Not the same number of function calls and responses"
        if each["role"] != "tool" and waiting:
            return "Not the same number of function calls and responses"
        waiting -= {each.get("tool_call_id")}
        for call in each.get("tool_calls") or ():
            if not re.fullmatch(r"[A-Za-z0-9]{9}", call["id"]):
                return "Tool call IDs should be alphanumeric strings with length 9!"
            waiting.add(call["id"])
    return "Not the same number of function calls and responses" if waiting else None


def vector(text: str) -> np.ndarray:
    """A unit vector that texts with common words share parts of."""
    row = np.zeros(DIMENSIONS, dtype="<f4")
    for word in re.findall(r"\w+", text.casefold()) or [""]:
        row[crc32(word.encode()) % DIMENSIONS] += 1
    return row / np.linalg.norm(row)


def _base64(row: np.ndarray) -> str:
    return base64.b64encode(row.astype("<f4").tobytes()).decode()


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": {"message": message, "type": "fake"}}, status, headers)


async def _half(text: str) -> AsyncIterator[str]:
    yield text[: len(text) // 2]
    raise _Dropped


def _line(body: dict[str, Any]) -> str:
    return f"data: {json.dumps(body)}\n\n"


def _body(recorded: Recorded, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": recorded.model, "choices": choices}


def _usage(recorded: Recorded, reply: Reply) -> dict[str, int]:
    given = len(" ".join(map(recorded.text, ("system", "user", "assistant"))).split())
    said = len(reply.tokens)
    return {"prompt_tokens": given, "completion_tokens": said, "total_tokens": given + said}


@pytest.fixture(scope="session")
def fake_openai_server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
def fake_openai(fake_openai_server: FakeOpenAI) -> Iterator[FakeOpenAI]:
    """The server with nothing queued and nothing recorded."""
    fake_openai_server.reset()
    yield fake_openai_server
    fake_openai_server.reset()
