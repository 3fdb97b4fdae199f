"""One dialogue told three ways: what a scripted model says, and exactly what must reach a client (TC-1, TC-13)."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.fake_openai import FakeOpenAI

HEAVY, REASON, TALK = "heavy", "reason", "talk"
ENVIRONMENT = {
    "THOUGHTCYCLE_REASONING_HEAVY__MODEL": HEAVY,
    "THOUGHTCYCLE_REASONING__MODEL": REASON,
    "THOUGHTCYCLE_CHAT__MODEL": TALK,
    "THOUGHTCYCLE_BACKGROUND__MODEL": "background",  # else the worker's questions use up the cycle's answers
    "THOUGHTCYCLE_EMBEDDING__MODEL": "embed",
    "THOUGHTCYCLE_LIMITS__EXPLAIN_ACTIONS": "on",
    "OPENAI_API_KEY": "sk-test-secret",
}


def environment(server: FakeOpenAI) -> dict[str, str]:
    """What a process needs to use the fake server for every role."""
    return ENVIRONMENT | {"OPENAI_BASE_URL": server.url}


@dataclass
class Seen:
    """What a client saw of one turn."""

    custom: list[dict[str, Any]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    """Message id to the text of its pieces joined, in order of appearance."""
    flags: dict[str, tuple[bool, str]] = field(default_factory=dict)
    """Message id to (chat_history, modal) of its run's metadata."""
    pieces: int = 0

    @property
    def statuses(self) -> list[str]:
        return [message["content"] for message in self.custom if message["modal"] == "text-for-replace"]

    @property
    def memories(self) -> list[Any]:
        return [message["content"] for message in self.custom if message["modal"] == "memory"]

    def add(self, mode: str, data: Any) -> None:
        """One part of a stream with the modes custom and messages (messages-tuple over HTTP)."""
        if mode == "custom":
            self.custom.append(data)
        elif mode == "messages":
            chunk, metadata = data
            chunk = chunk if isinstance(chunk, Mapping) else chunk.model_dump()
            if chunk["content"]:
                assert not {"chat_history", "modal"} & chunk["additional_kwargs"].keys()
                self.texts[chunk["id"]] = self.texts.get(chunk["id"], "") + chunk["content"]
                self.flags[chunk["id"]] = (metadata["chat_history"], metadata["modal"])
                self.pieces += 1


async def watch(stream: AsyncIterator[Any]) -> Seen:
    """Collects a whole stream of (mode, data) or (namespace, mode, data) parts."""
    seen = Seen()
    async for part in stream:
        seen.add(*part[-2:])
    return seen


@dataclass(frozen=True)
class Turn:
    """A user's message, the model's answers per role, and what must be seen."""

    message: str
    decisions: tuple[str, ...]
    answers: tuple[str, ...]
    says: tuple[str, ...]
    statuses: tuple[str, ...]
    flags: tuple[bool, ...]
    memories: tuple[str, ...] = ()

    def script(self, server: FakeOpenAI, ids: Mapping[str, str]) -> None:
        """Queues what the model says; `$key` in an answer becomes the id of a memory."""
        answers = [_filled(answer, ids) for answer in self.answers]
        server.say(*self.decisions, model=HEAVY)
        server.say(*answers, model=REASON)
        server.say(*self.says, model=TALK)

    def check(self, seen: Seen) -> None:
        """The two streams match to the letter."""
        assert tuple(seen.statuses) == self.statuses
        assert tuple(seen.memories) == self.memories
        assert tuple(seen.texts.values()) == self.says
        assert tuple(seen.flags.values()) == tuple((flag, "text") for flag in self.flags)
        assert seen.pieces > len(self.says)
        for message in seen.custom:
            assert message.keys() == {"chat-history", "modal", "role", "content", "id"}
            status = message["modal"] == "text-for-replace"
            assert message["role"] == ("assistant" if status else "system")
            assert message["chat-history"] is not status


def _filled(answer: str, ids: Mapping[str, str]) -> str:
    for key, id in ids.items():
        answer = answer.replace(f"${key}", id)
    return answer


THINK, SEARCH, SAVE, UPDATE, DELETE = (
    ("Pensando…",),
    ("Buscando memórias…", "Buscando memórias: formatando…", "Buscando memórias: pesquisando…"),
    ("Salvando memórias…", "Salvando memórias: formatando…", "Salvando memórias: gravando…"),
    ("Atualizando memórias…", "Atualizando memórias: gravando…"),
    ("Apagando memórias…", "Apagando memórias: apagando…"),
)

TURNS = (
    Turn(
        "Meu nome é Pedro, sou vegetariano e odeio coentro.",
        ("MemorySave", "Finish."),
        (
            json.dumps(
                [
                    {"type": "text", "content": "Nome: Pedro", "bindings": ["nome"]},
                    {"type": "text", "content": "Vegetariano", "bindings": ["alimentação"]},
                    {"type": "text", "content": "Odeia coentro", "bindings": ["alimentação", "comida"]},
                ]
            ),
        ),
        ("Guardei três memórias.", "Prazer, Pedro! Anotei tudo."),
        (*THINK, *SAVE, *THINK),
        (True, False),
    ),
    Turn(
        "O que você sabe sobre minha alimentação?",
        ("A próxima ação é MemorySearch", "finish"),
        ('```json\n["alimentação"]\n```',),
        ("Encontrei duas memórias.", "Você é vegetariano e odeia coentro."),
        (*THINK, *SEARCH, *THINK),
        (True, False),
        ("Vegetariano", "Odeia coentro"),
    ),
    Turn(
        "Na verdade agora eu como peixe, não sou mais vegetariano.",
        ("MemoryUpdate", "Finish"),
        ('[{"_id": "$Vegetariano", "content": "Come peixe, não é mais vegetariano"}]',),
        ("Atualizei sua alimentação.", "Pronto."),
        (*THINK, *UPDATE, *THINK),
        (True, False),
    ),
    Turn(
        "Esqueça que odeio coentro.",
        ("MemoryDelete", "Finish"),
        ('["$Odeia coentro"]',),
        ("Apaguei uma memória sobre alimentação.", "Feito."),
        (*THINK, *DELETE, *THINK),
        (True, False),
    ),
    Turn(
        "Qual é a minha cor favorita?",
        ("MemorySearch", "Question"),
        ('["cor favorita"]',),
        ("Não encontrei nada.", "Qual é a sua cor favorita?"),
        (*THINK, *SEARCH, *THINK),
        (True, True),
    ),
)
