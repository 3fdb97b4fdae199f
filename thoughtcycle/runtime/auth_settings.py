"""Settings of authentication, and the making of API keys."""

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
)
from pydantic_settings import NoDecode

SECRET_BYTES = 32
"""RFC 7518, section 3.2: an HS256 key is at least as long as its hash."""

KEY_PREFIX = "tc_"
"""Prefix of every API key: scanners for leaked secrets recognise it."""

EXPECTED: Mapping[str, str] = {
    "secret": f">= {SECRET_BYTES} bytes",
    "jwks_url": "https://host/path",
    "issuer": "text, with THOUGHTCYCLE_AUTH__JWKS_URL or __SECRET",
    "audience": "text, with THOUGHTCYCLE_AUTH__JWKS_URL or __SECRET",
    "api_keys": "USER:SHA256,…",
}
"""The form of each setting, for error messages."""


@dataclass(frozen=True)
class ApiKey:
    """An API key of one user; only its SHA-256 is stored."""

    user: str
    digest: str = field(repr=False)


def new_key() -> str:
    """An API key: 256 random bits."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def digest_of(key: str) -> str:
    """The hash that is stored for a key. A fast one does: nobody guesses 256 random bits."""
    return hashlib.sha256(key.encode()).hexdigest()


def _parse_keys(given: object) -> object:
    """Parses `ana:5f…,bob:09…`; ValueError for an entry of another form or a repeated key."""
    if not isinstance(given, str):
        return given
    entries = [entry.strip().rpartition(":") for entry in given.split(",") if entry.strip()]
    keys = tuple(ApiKey(user.strip(), digest.strip().lower()) for user, _, digest in entries)
    named = all(0 < len(key.user) <= 200 and key.user.isprintable() for key in keys)
    hashed = all(re.fullmatch(r"[0-9a-f]{64}", key.digest) for key in keys)
    if not (named and hashed) or (given.strip() and not keys):
        raise ValueError("no list of USER:SHA256")
    if len({key.digest for key in keys}) < len(keys):
        raise ValueError("a key of two users")
    return keys


def _check_length(secret: SecretStr) -> SecretStr:
    if len(secret.get_secret_value().encode()) < SECRET_BYTES:
        raise ValueError("too short")
    return secret


LongSecret = Annotated[SecretStr, AfterValidator(_check_length)]
"""A secret of at least SECRET_BYTES bytes."""


class AuthSettings(BaseModel):
    """Bearer tokens by a shared secret or by published keys, and API keys; nothing set: one local user."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    secret: LongSecret | None = Field(default=None, description="Shared secret of HS256 tokens.")
    jwks_url: str | None = Field(
        default=None,
        description="Where the keys of RS and ES tokens are published; https, or http on this machine.",
    )
    issuer: str | None = Field(
        default=None, validate_default=True, description="Who must have issued a token (`iss`)."
    )
    audience: str | None = Field(
        default=None, validate_default=True, description="For whom a token must be (`aud`)."
    )
    api_keys: Annotated[tuple[ApiKey, ...], NoDecode, BeforeValidator(_parse_keys)] = Field(
        default=(), description="Users and SHA-256 of their keys, `thoughtcycle keys new USER` makes one."
    )

    @property
    def on(self) -> bool:
        """Whether callers have to prove who they are."""
        return bool(self.secret or self.jwks_url or self.api_keys)

    @field_validator("secret", "jwks_url", "issuer", "audience", mode="before")
    @classmethod
    def _empty_is_unset(cls, given: object) -> object:
        return None if isinstance(given, str) and not given.strip() else given

    @field_validator("jwks_url")
    @classmethod
    def _is_secure(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        on_this_machine = parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
        if not parts.hostname or not (parts.scheme == "https" or on_this_machine) or parts.username:
            raise ValueError("no https address")
        return url

    @field_validator("issuer", "audience")
    @classmethod
    def _goes_with_tokens(cls, value: str | None, info: ValidationInfo) -> str | None:
        """Required with published keys, whose owner also signs for other applications; useless alone."""
        tokens = info.data.get("secret") or info.data.get("jwks_url")
        if (value is None and info.data.get("jwks_url")) or (value is not None and not tokens):
            raise ValueError("not as the keys of tokens are set")
        return value
