"""Tracing to LangSmith: only with a key, and what leaves the machine has no secrets, ids or files in it."""

import threading
from collections.abc import Mapping
from typing import Any

import langsmith
from langsmith.client import ID_TYPE
from langsmith.schemas import TracerSession
from langsmith.utils import get_env_var, tracing_is_enabled
from pydantic import SecretStr

from thoughtcycle.memory.secrets import MARK, masked
from thoughtcycle.nodes.tracing import PSEUDONYMS
from thoughtcycle.prompts.errors import InputRefused

_USERS = frozenset({"user_id", "user", "owner", "space", "memoriesId", "identity"})
"""Names whose values are ids of users."""
_AUTH = "langgraph_auth_user"
"""How LangGraph's server names what it knows of the caller."""
_ENCODED = ("base64", "data", "file_data", "url")
_LONG = 200
"""Characters from which a value under such a name is a file and no text."""
_lock = threading.Lock()
_client: langsmith.Client | None = None


class _Client(langsmith.Client):
    """The real client, silent about the git history of the folder: that names people."""

    def create_project(self, project_name: str, **options: Any) -> TracerSession:
        """See langsmith.Client."""
        return super().create_project(project_name, **_without_git(options))

    def update_project(self, project_id: ID_TYPE, **options: Any) -> TracerSession:
        """See langsmith.Client."""
        return super().update_project(project_id, **_without_git(options))


def _without_git(options: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in (options.get("metadata") or {}).items() if name != "git"}
    return {**options, "metadata": concealed(metadata)} if metadata else options


def set_up(key: SecretStr | None = None) -> InputRefused | None:
    """Makes all runs of this process go to LangSmith without secrets, or not at all; before the first run.

    Where tracing is asked for (`LANGSMITH_TRACING`) but there is no key it is switched off, and the failure
    to be told is returned. `key`: see `Pseudonyms.use`. Calling it again changes nothing.
    """
    if not tracing_is_enabled():
        return None
    if not (get_env_var("API_KEY") or "").strip():
        langsmith.configure(enabled=False)
        return InputRefused("tracing_key_missing")
    masked_client(key)
    return None


def masked_client(key: SecretStr | None = None) -> langsmith.Client:
    """The process's client, through which nothing leaves without `concealed`; needs LangSmith's key."""
    global _client
    with _lock:
        if _client is None:
            if key is not None:
                PSEUDONYMS.use(key.get_secret_value())
            _client = _Client(anonymizer=concealed, omit_traced_runtime_info=True)
            langsmith.configure(client=_client)
        return _client


def concealed(data: dict[str, Any]) -> dict[str, Any]:
    """Inputs, outputs, errors or metadata of a run as they may leave the machine."""
    return {name: _concealed(name, value) for name, value in data.items() if not name.startswith(_AUTH)}


def _concealed(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return _text(name, value)
    if isinstance(value, Mapping):
        return concealed(dict(value))
    if isinstance(value, list):
        return [_concealed(name, item) for item in value]
    return value


def _text(name: str, value: str) -> str:
    if name in _USERS:
        return PSEUDONYMS.of(value) if value else value
    if len(value) > _LONG and (value.startswith("data:") or (name in _ENCODED and " " not in value)):
        return MARK
    # "password": "x" says what it is as "password: x" does
    head = f"{name}: "
    told = masked(head + value)
    return told[len(head) :] if told.startswith(head) else masked(value)
