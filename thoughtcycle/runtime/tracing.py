"""Tracing to LangSmith, without secrets, ids of users and files; off where there is no key."""

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
from thoughtcycle.memory.text.analyzer import fold
from thoughtcycle.memory.text.secrets import MARK, masked, secret_values
from thoughtcycle.nodes.base.tracing import PSEUDONYMS

_USERS = frozenset({"user_id", "user", "owner", "space", "memoriesId", "identity"})
"""Names whose values are ids of users."""
_ENCODED = ("base64", "data", "file_data", "url")
_LONG = 200
"""Characters from which a value under such a name is a file."""
_SHORTEST, _MOST = 4, 200
"""Shortest secret, in characters, that is remembered, and how many are."""
_lock = threading.Lock()
_client: langsmith.Client | None = None


class _Client(langsmith.Client):
    """A client that does not send the git metadata of the folder: it names people."""

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
    """Sets up tracing of this process; call it before the first run. Idempotent.

    Where `LANGSMITH_TRACING` is set without a key, tracing is switched off and the notice for the user is
    returned. `key`: see `Pseudonyms.use`.
    """
    if not tracing_is_enabled():
        return None
    if not (get_env_var("API_KEY") or "").strip():
        langsmith.configure(enabled=False)
        return InputRefused("tracing_key_missing")
    masked_client(key)
    return None


def masked_client(key: SecretStr | None = None) -> langsmith.Client:
    """The process's client, which applies `concealed` to all data; needs LangSmith's key."""
    global _client
    with _lock:
        if _client is None:
            if key is not None:
                PSEUDONYMS.use(key.get_secret_value())
            _client = _Client(anonymizer=concealed, omit_traced_runtime_info=True)
            langsmith.configure(client=_client)
        return _client


class SeenSecrets:
    """The last secrets that were recognised by their context; masked in other texts, too."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, None] = OrderedDict()
        self._pattern: re.Pattern[str] | None = None
        self._lock = threading.Lock()

    def learn(self, text: str) -> None:
        """Remembers the secrets of a text."""
        for value in secret_values(text):
            if len(value) >= _SHORTEST and value not in self._values:
                with self._lock:
                    self._values[value] = None
                    while len(self._values) > _MOST:
                        self._values.popitem(last=False)
                    forms = {form for secret in self._values for form in (secret, fold(secret))}
                    one_of = "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
                    self._pattern = re.compile(rf"(?<!\w)(?:{one_of})(?!\w)", re.IGNORECASE)

    def masked(self, text: str) -> str:
        """`text` without the remembered secrets."""
        return text if self._pattern is None else self._pattern.sub(MARK, text)


_SEEN = SeenSecrets()


def concealed(data: dict[str, Any]) -> dict[str, Any]:
    """Inputs, outputs, errors or metadata of a run as they may leave the machine."""
    for text in _texts("", data):
        _SEEN.learn(text)
    return _conceal_mapping(data)


def _texts(name: str, value: Any) -> Iterator[str]:
    """All texts and numbers in `value` after their names: "password: x" is recognised, "x" is not."""
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        yield f"{name}: {value}"
    elif isinstance(value, Mapping):
        for inner, item in value.items():
            yield f": {inner}"
            yield from _texts(inner, item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(name, item)


def _conceal_mapping(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        _SEEN.masked(masked(name, personal=True)): _conceal(name, value)
        for name, value in data.items()
        if not name.startswith("langgraph_auth_user")  # LangGraph's server describes the caller there
    }


def _conceal(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return _conceal_text(name, value)
    if isinstance(value, int | float) and not isinstance(value, bool):  # a card, or a password of digits
        text = _conceal_text(name, str(value))
        return value if text == str(value) else text
    if isinstance(value, Mapping):
        return _conceal_mapping(value)
    return [_conceal(name, item) for item in value] if isinstance(value, list) else value


def _conceal_text(name: str, value: str) -> str:
    if name in _USERS:
        return PSEUDONYMS.of(value) if value else value
    if len(value) > _LONG and (value.startswith("data:") or (name in _ENCODED and " " not in value)):
        return MARK
    head = f"{name}: "
    text = masked(head + value, personal=True)
    return _SEEN.masked(text[len(head) :] if text.startswith(head) else masked(value, personal=True))
