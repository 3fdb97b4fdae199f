"""Tracing to LangSmith: only with a key, and what leaves the machine has no secrets, ids or files in it."""

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

import langsmith
from langsmith.client import ID_TYPE
from langsmith.schemas import TracerSession
from langsmith.utils import get_env_var, tracing_is_enabled
from pydantic import SecretStr

from thoughtcycle.errors import InputRefused
from thoughtcycle.memory.text import MARK, fold, masked, values_in
from thoughtcycle.nodes.base.tracing import PSEUDONYMS

_USERS = frozenset({"user_id", "user", "owner", "space", "memoriesId", "identity"})
"""Names whose values are ids of users."""
_AUTH = "langgraph_auth_user"
"""How LangGraph's server names what it knows of the caller."""
_ENCODED = ("base64", "data", "file_data", "url")
_LONG = 200
"""Characters from which a value under such a name is a file and no text."""
_SHORTEST, _MOST = 4, 200
"""Characters of a secret that is looked for everywhere, and how many are."""
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


class SeenSecrets:
    """The last secrets that were recognised: they are masked where nothing tells them to be secrets, too."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, None] = OrderedDict()
        self._pattern: re.Pattern[str] | None = None
        self._lock = threading.Lock()

    def learn(self, text: str) -> None:
        """Takes in the secrets of a text."""
        for value in values_in(text):
            if len(value) >= _SHORTEST and value not in self._values:
                with self._lock:
                    self._values[value] = None
                    while len(self._values) > _MOST:
                        self._values.popitem(last=False)
                    said = sorted({each for one in self._values for each in (one, fold(one))}, key=len)
                    one_of = "|".join(map(re.escape, reversed(said)))
                    self._pattern = re.compile(rf"(?<!\w)(?:{one_of})(?!\w)", re.IGNORECASE)

    def masked(self, text: str) -> str:
        """`text` without them."""
        return text if self._pattern is None else self._pattern.sub(MARK, text)


_SEEN = SeenSecrets()


def concealed(data: dict[str, Any]) -> dict[str, Any]:
    """Inputs, outputs, errors or metadata of a run as they may leave the machine."""
    for name, text in _texts("", data):
        _SEEN.learn(_head(name) + text)
    return _within(data)


def _texts(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """All texts in `value`, each with the name that it is under."""
    if isinstance(value, str):
        yield name, value
    elif _number(value):
        yield name, str(value)
    elif isinstance(value, Mapping):
        for inner, item in value.items():
            yield "", inner
            yield from _texts(inner, item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(name, item)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _head(name: str) -> str:
    """ "password": "x" says what it is as "password: x" does."""
    return f"{name}: "


def _within(data: dict[str, Any]) -> dict[str, Any]:
    return {
        _SEEN.masked(masked(name)): _concealed(name, value)
        for name, value in data.items()
        if not name.startswith(_AUTH)
    }


def _concealed(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return _text(name, value)
    if _number(value):  # a card, or a password of digits
        told = _text(name, str(value))
        return value if told == str(value) else told
    if isinstance(value, Mapping):
        return _within(dict(value))
    if isinstance(value, list):
        return [_concealed(name, item) for item in value]
    return value


def _text(name: str, value: str) -> str:
    if name in _USERS:
        return PSEUDONYMS.of(value) if value else value
    if len(value) > _LONG and (value.startswith("data:") or (name in _ENCODED and " " not in value)):
        return MARK
    head = _head(name)
    told = masked(head + value)
    return _SEEN.masked(told[len(head) :] if told.startswith(head) else masked(value))
