"""What callers of a shared server may reach and read: no thread of another, no internals in a failure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.errors import GraphInterrupt

from support.callers import auth
from thoughtcycle.errors import (
    ExtraMissing,
    InputRefused,
    MemoryAway,
    ModelFailed,
    NotAllowed,
    StorageUnavailable,
    ThoughtcycleError,
    TurnKept,
    Unexpected,
    for_strangers,
)
from thoughtcycle.graph.thought_cycle import builder
from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.nodes.base.guard import hide_internal_errors
from thoughtcycle.nodes.base.services import Services, provider_of
from thoughtcycle.runtime.resources import Resources, hold
from thoughtcycle.runtime.settings import Settings
from thoughtcycle.web.auth.langgraph import check_thread_owner, store_namespace


def settings(folder: Path) -> Settings:
    return Settings.model_validate(
        {"db": f"sqlite:///{folder}/m.db", "auth": auth(), "user": "local", "spool": folder / "spool"}
    )


async def say(resources: Resources, user: str, thread: str, *, incognito: bool = False) -> None:
    graph = builder(provider_of(resources.services)).compile(checkpointer=resources.checkpointer)
    await graph.ainvoke(
        {"messages": [HumanMessage("Oi!")]},
        {"configurable": {"thread_id": thread}},
        context=Context(user_id=user, incognito=incognito),
    )


@pytest.mark.spec("BY-5")
@pytest.mark.parametrize("incognito", [False, True])
async def test_a_thread_belongs_to_who_began_it(tmp_path: Path, incognito: bool) -> None:
    async with hold(settings(tmp_path), ModelSettings()) as resources:
        await say(resources, "ana", "t1", incognito=incognito)
        await check_thread_owner("ana", "t1")
        await check_thread_owner("bob", "t2")
        with pytest.raises(NotAllowed):
            await check_thread_owner("bob", "t1")


@pytest.mark.spec("BY-5")
async def test_a_shared_server_has_no_single_user(tmp_path: Path) -> None:
    async with hold(settings(tmp_path), ModelSettings()) as resources:
        assert resources.services.single_user is None and resources.services.public
        with pytest.raises(NotAllowed):
            await say(resources, "", "t3")


@dataclass
class Runtime:
    server_info: Any


@pytest.mark.parametrize("error", [KeyError("secret"), ValueError("secret"), OSError("secret")])
def test_a_fault_is_told_by_name_only(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    services = Services(None, None, public=True)  # type: ignore[arg-type]
    with pytest.raises(Unexpected) as told, hide_internal_errors(Runtime("server"), services):  # type: ignore[arg-type]
        raise error
    assert "secret" not in str(told.value) and "secret" in caplog.text


@pytest.mark.parametrize(
    ("error", "public", "server"),
    [
        (KeyError("x"), True, None),
        (KeyError("x"), False, "server"),
        (NotAllowed("no_user"), True, "server"),
        (GraphInterrupt(), True, "server"),
    ],
)
def test_other_failures_pass_as_they_are(error: Exception, public: bool, server: str | None) -> None:
    services = Services(None, None, public=public)  # type: ignore[arg-type]
    with pytest.raises(type(error)) as told, hide_internal_errors(Runtime(server), services):  # type: ignore[arg-type]
        raise error
    assert told.value is error


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (StorageUnavailable("mongodb://inner.host/db"), "storage_trouble"),
        (TurnKept(), "turn_kept"),
        (MemoryAway(), "memory_away"),
        (
            ModelFailed("model_key", url="http://10.0.0.5", model="m", role="chat", setting="X"),
            "model_trouble",
        ),
        (ModelFailed("reply_cut"), "reply_cut"),
        (InputRefused("message_too_long", length=5, longest=3), "message_too_long"),
        (ExtraMissing("a.pdf", "/srv/10.0.0.5/python"), "extra_missing_there"),
    ],
)
def test_strangers_read_no_internals(error: ThoughtcycleError, shown: str) -> None:
    told = for_strangers(error)
    assert told.code == shown
    for language in ("pt", "en"):
        assert "inner.host" not in told.text(language) and "10.0.0.5" not in told.text(language)


@pytest.mark.parametrize(
    ("user", "label"), [("ana", "ana"), ("a.b", "a%2Eb"), ("*", "%2A"), ("a/b", "a%2Fb")]
)
def test_a_namespace_label_is_one_users_alone(user: str, label: str) -> None:
    assert store_namespace(user) == (label,)
