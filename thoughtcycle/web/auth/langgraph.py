"""Authentication and ownership for LangGraph's servers (`auth` of langgraph.json)."""

from collections.abc import MutableMapping
from typing import Any
from urllib.parse import quote

from langgraph_sdk import Auth
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from thoughtcycle.errors import NotAllowed, NotAuthenticated, OriginRefused, TooMuch
from thoughtcycle.memory.text.analyzer import digest
from thoughtcycle.runtime.env_file import read_env_file
from thoughtcycle.runtime.resources import hold
from thoughtcycle.runtime.settings import load_settings
from thoughtcycle.web.auth.middleware import AccessControl

OWNER = "owner"
"""The metadata key for the owner of a thread, run or cron: a digest, since metadata
also goes to traces."""

Context = Auth.types.AuthContext
Filter = dict[str, str]


def create_auth(access: AccessControl) -> Auth:
    """Authentication and ownership for LangGraph's servers.

    Without authentication there is no identity, and a run's user is the deployment's or the one that the
    run names, as before. With it another user's things are not found (404, or 403 in the store).
    """
    auth = Auth()

    @auth.authenticate
    async def authenticate(headers: dict[bytes, bytes], scope: dict[str, Any]) -> dict[str, str]:
        client = scope.get("client")
        try:
            caller = await access.admit(
                Headers(raw=list(headers.items())), client[0] if client else None, allow_studio=True
            )
        except TooMuch as refusal:
            wait = {"retry-after": str(refusal.values["seconds"])}
            raise HTTPException(429, str(refusal), wait) from None
        except NotAuthenticated as refusal:
            # whatever is neither of these two would be answered as a fault of ours
            status = 403 if isinstance(refusal, OriginRefused) else 401
            raise Auth.exceptions.HTTPException(status_code=status, detail=str(refusal)) from None
        return {"identity": caller.user if access.authenticator.on else ""}

    @auth.on
    async def nothing_else(ctx: Context, value: Any) -> bool:
        return not access.authenticator.on

    @auth.on(resources=["threads", "crons"])
    async def own(ctx: Context, value: dict[str, Any]) -> Filter | None:
        if not access.authenticator.on:
            return None
        if ctx.action in ("create", "create_run", "update") and isinstance(
            value.get("metadata"), MutableMapping
        ):
            value["metadata"][OWNER] = owner_digest(ctx)
        begins = ctx.action == "create" or value.get("if_not_exists") == "create"
        if begins and value.get("thread_id") is not None:
            try:
                await check_thread_owner(ctx.user.identity, str(value["thread_id"]))
            except NotAllowed:
                raise Auth.exceptions.HTTPException(status_code=404, detail="Not found") from None
        return {OWNER: owner_digest(ctx)}

    @auth.on(resources="assistants", actions=["read", "search"])
    async def all_assistants(ctx: Context, value: Any) -> bool:
        return True

    @auth.on.store()
    async def own_namespace(ctx: Context, value: dict[str, Any]) -> bool:
        if not access.authenticator.on:
            return True
        own = store_namespace(ctx.user.identity)
        namespace = tuple(value.get("namespace") or ())
        if not namespace and ctx.action in ("search", "list_namespaces"):
            value["namespace"] = own
            return True
        return namespace[:1] == own

    return auth


def owner_digest(ctx: Context) -> str:
    """A digest of the caller for metadata; refuses a context without a caller."""
    if not ctx.user.identity:
        raise Auth.exceptions.HTTPException(status_code=403)
    return digest(f"owner\x1f{ctx.user.identity}")[:32]


def store_namespace(user: str) -> tuple[str, ...]:
    """The first label of all that is the user's in the store: no dots, and no `*`, which matches any."""
    return (quote(user, safe="").replace(".", "%2E"),)


async def check_thread_owner(user: str, thread: str) -> None:
    """NotAllowed for another user's thread, even if the server lost its record: the state is there."""
    async with hold() as resources:
        await resources.services.memory.transcript.check_chat(user, thread)
        kept = await resources.checkpointer.aget_tuple({"configurable": {"thread_id": thread}})
    if kept and kept.checkpoint["channel_values"].get("user_id") not in (None, user):
        raise NotAllowed("chat_of_another")


read_env_file()
auth = create_auth(AccessControl.of(load_settings()))
