"""The model roles and how each is configured (TC-14)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from thoughtcycle.errors import InputRefused

ModelRole = Literal["reasoning_heavy", "reasoning", "chat", "background"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
Decisions = Literal["tools", "names", "auto"]

ROLES: tuple[ModelRole, ...] = get_args(ModelRole)
PREFIX = "THOUGHTCYCLE_"
CHAT_MODEL = "gpt-5-mini"
EMBEDDING_MODEL = "text-embedding-3-small"
TIMEOUT = 60.0
"""Seconds that one attempt of a call may take, from connecting to the last token."""
BACKGROUND_TIMEOUT = 10.0
"""The same for the background role (CM-8)."""
OPENAI = "api.openai.com"
REPLY_TOKENS = 4_000
"""Longest reply, in tokens; a longer one is cut."""
CONTEXT_TOKENS, OPENAI_CONTEXT_TOKENS = 32_000, 128_000
"""Tokens that a model reads at once, where the settings do not say it: on other servers, on OpenAI's."""
LOCAL = "local:"
"""Prefix of an embedding model that runs on this machine."""

_EXPECTED = {
    "base_url": "http://host[:port]/v1 | https://host[:port]/v1",
    "api_key": "ASCII",
    "timeout": "0.1 … 3600 (s)",
    "effort": " | ".join(get_args(Effort)),
    "max_retries": "0 … 5",
    "reply_tokens": "10 … 1000000",
    "context_tokens": "1000 … 100000000",
    "decisions": " | ".join(get_args(Decisions)),
}


class RoleSettings(BaseModel):
    """Settings of one role, e.g. `THOUGHTCYCLE_CHAT__MODEL`; None takes the default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str | None = None
    base_url: str | None = Field(default=None, repr=False)
    """Address of an OpenAI-compatible server, up to and with `/v1`."""
    api_key: SecretStr | None = None
    timeout: float | None = Field(default=None, ge=0.1, le=3600)
    """Seconds that one attempt may take in all."""
    effort: Effort | None = None
    """Reasoning effort; `low` when unset, and left out where the model refuses it."""
    max_retries: int | None = Field(default=None, ge=0, le=5)
    """How often a transient failure is tried again before the fallback model is asked."""

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        if value is not None and not (value.startswith(("http://", "https://")) and host_of(value)):
            raise ValueError("not an http address")
        return value

    @field_validator("api_key")
    @classmethod
    def _can_be_sent(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().isascii():
            raise ValueError("no header can carry it")
        return value


@dataclass(frozen=True)
class Endpoint:
    """Where the calls of a role go, with every default filled in."""

    role: str
    model: str
    base_url: str | None = None
    api_key: SecretStr | None = None
    timeout: float = TIMEOUT
    effort: str | None = None
    max_retries: int = 1
    reply_tokens: int = REPLY_TOKENS
    setting: str = ""
    """The environment variable that names the model."""

    @property
    def host(self) -> str:
        """Host and port, without credentials and path."""
        return host_of(self.base_url) if self.base_url else OPENAI

    @property
    def named(self) -> dict[str, object]:
        """Names of this endpoint for the texts of errors."""
        own = f"{PREFIX}{self.role.upper()}"
        names = {"setting": own, "model_setting": self.setting or f"{own}__MODEL"}
        return {"role": self.role, "model": self.model, "url": self.host, **names}

    def __repr__(self) -> str:
        return f"Endpoint(role={self.role!r}, model={self.model!r}, host={self.host!r})"


class ModelSettings(BaseSettings):
    """The models of all roles, from the environment.

    `OPENAI_API_KEY` and `OPENAI_BASE_URL` hold for every role that does not name its own,
    `THOUGHTCYCLE_MODEL` for every chat role. Raises InputRefused `bad_setting`.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_ignore_empty=True,
        populate_by_name=True,
        extra="ignore",
        frozen=True,
    )

    model: str | None = None
    decisions: Decisions = "auto"
    """How actions are chosen: by one call with tools, by name, or with tools where the model takes them."""
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL", repr=False)
    reply_tokens: int = Field(default=REPLY_TOKENS, ge=10, le=1_000_000)
    """Longest reply, in tokens; a longer one is cut and marked."""
    context_tokens: int | None = Field(default=None, ge=1_000, le=100_000_000)
    """Tokens that the models read at once: how much of a long message they are given (BY-7)."""
    reasoning_heavy: RoleSettings = RoleSettings()
    reasoning: RoleSettings = RoleSettings()
    chat: RoleSettings = RoleSettings()
    background: RoleSettings = RoleSettings()
    """Unset values are taken from `reasoning`."""
    embedding: RoleSettings = RoleSettings()
    """`model`: a name on the server, `local:NAME`, `lexical` (hashed words) or `none` (keywords only)."""
    fallback: RoleSettings = RoleSettings()
    """Serves a chat role whose model fails; off unless its model or address is set."""

    _can_be_sent = field_validator("openai_api_key")(RoleSettings._can_be_sent.__func__)  # type: ignore[attr-defined]
    _is_http = field_validator("openai_base_url")(RoleSettings._is_http.__func__)  # type: ignore[attr-defined]

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise _refused(error.errors(include_input=False, include_url=False)[0]["loc"]) from None
        except SettingsError as error:
            field = re.search(r'field "(\w+)"', str(error))
            raise _refused((field[1] if field else "*",)) from None

    @property
    def configured(self) -> bool:
        """Whether any chat role has a key or an address; without, the rules answer."""
        own = (getattr(self, role) for role in ROLES)
        return self._has_default or any(one.api_key or one.base_url for one in own)

    @property
    def _has_default(self) -> bool:
        return bool(self.openai_api_key or self.openai_base_url)

    def endpoint(self, role: ModelRole) -> Endpoint:
        """Where the calls of `role` go."""
        own: RoleSettings = getattr(self, role)
        if role != "background":
            return self._resolve(role, own, self.model or CHAT_MODEL, TIMEOUT)
        merged = {name: _first(getattr(own, name), getattr(self.reasoning, name)) for name in _FIELDS}
        if self.reasoning.effort and not own.effort:
            merged["effort"] = "low"
        return self._resolve(role, RoleSettings(**merged), self.model or CHAT_MODEL, BACKGROUND_TIMEOUT)

    @property
    def decides_with_chat(self) -> bool:
        """Whether the roles that decide and that talk are served by the same model."""
        heavy, chat = self.endpoint("reasoning_heavy"), self.endpoint("chat")
        return (heavy.model, heavy.base_url) == (chat.model, chat.base_url)

    @property
    def context(self) -> int:
        """Tokens that the chat model reads at once."""
        known = OPENAI_CONTEXT_TOKENS if self.endpoint("chat").host == OPENAI else CONTEXT_TOKENS
        return self.context_tokens or known

    def fallback_endpoint(self) -> Endpoint | None:
        """The fallback model; None when there is none."""
        if not (self.fallback.model or self.fallback.base_url):
            return None
        return self._resolve("fallback", self.fallback, self.model or CHAT_MODEL, TIMEOUT)

    def embedding_endpoint(self) -> Endpoint | None:
        """A server or `local:…`; None for hashed words and for none, which `embedding.model` tells apart."""
        own = self.embedding
        if own.model in ("none", "lexical"):
            return None
        named_local = (own.model or "").startswith(LOCAL)
        if not (named_local or self._has_default or own.api_key or own.base_url):
            return None
        return self._resolve("embedding", own, EMBEDDING_MODEL, TIMEOUT)

    def _resolve(self, role: str, own: RoleSettings, model: str, timeout: float) -> Endpoint:
        return Endpoint(
            role=role,
            model=own.model or model,
            base_url=own.base_url or self.openai_base_url,
            api_key=own.api_key or self.openai_api_key,
            timeout=_first(own.timeout, timeout),
            effort=own.effort,
            max_retries=_first(own.max_retries, 1),
            reply_tokens=self.reply_tokens,
            setting=f"{PREFIX}MODEL" if self.model == model and not own.model else "",
        )

    def masked(self) -> Mapping[str, Mapping[str, object]]:
        """The settings in force per role, for display: no key, no credentials of an address."""
        endpoints = [*(self.endpoint(role) for role in ROLES), self.fallback_endpoint()]
        embedding = self.embedding_endpoint()
        shown = {each.role: _shown(each) for each in (*endpoints, embedding) if each}
        if embedding is None:
            shown["embedding"] = {"model": self.embedding.model or "lexical"}
        return shown


_FIELDS = tuple(RoleSettings.model_fields)


def host_of(url: str) -> str:
    """Host and port of an address, "" when it has none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return f"{host}:{port}" if port else host


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _shown(endpoint: Endpoint) -> dict[str, object]:
    local = endpoint.role == "embedding" and endpoint.model.startswith(LOCAL)
    return {
        "model": endpoint.model,
        "host": "local" if local else endpoint.host,
        "key": "***" if endpoint.api_key and not local else None,
        "timeout": endpoint.timeout,
        "effort": endpoint.effort,
        "max_retries": endpoint.max_retries,
    }


def _refused(where: tuple[int | str, ...]) -> InputRefused:
    """The error about the setting at `where`, named as in the environment."""
    parts = [str(part) for part in where]
    aliased = parts[0].startswith("OPENAI_")
    setting = parts[0] if aliased else PREFIX + "__".join(part.upper() for part in parts)
    kind = parts[-1].lower().removeprefix("openai_")
    expected = _EXPECTED.get(kind, " | ".join(name.upper() for name in _FIELDS))
    return InputRefused("bad_setting", name=setting, expected=expected)
