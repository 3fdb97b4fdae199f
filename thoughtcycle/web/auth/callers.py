"""Authenticates callers: bearer tokens, API keys, the page's cookie, or the user of a local server."""

import hmac
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import jwt
from starlette.requests import cookie_parser

from thoughtcycle.errors import InputRefused, NotAuthenticated, OriginRefused
from thoughtcycle.runtime.auth_settings import KEY_PREFIX, AuthSettings, digest_of
from thoughtcycle.runtime.settings import Settings, login_name
from thoughtcycle.web.auth.csrf import foreign_origin, is_local, is_loopback, is_studio
from thoughtcycle.web.auth.jwks import PublishedKeys

log = logging.getLogger(__name__)

COOKIE = "thoughtcycle"
"""The page's cookie: holds a token or key, and counts only from this server's own pages."""

PUBLISHED_ALGORITHMS = ("RS256", "RS384", "RS512", "ES256", "ES384", "ES512")
LEEWAY_SECONDS = 30
MAX_TOKEN_CHARS = 8192
"""Characters of a token; none of an honest issuer is longer."""

Kind = Literal["local", "token", "key"]


@dataclass(frozen=True)
class Caller:
    """The authenticated user of a request, and the kind of credential."""

    user: str
    kind: Kind
    by_cookie: bool = False


class Authenticator:
    """Authenticates requests by their headers."""

    def __init__(self, auth: AuthSettings, local_user: str, keys: PublishedKeys | None = None) -> None:
        self._auth = auth
        self._local = Caller(local_user, "local")
        self._published = keys

    @classmethod
    def of(cls, settings: Settings) -> "Authenticator":
        """The authenticator of these settings; logs a warning where authentication is off."""
        auth = settings.auth
        if not auth.on:
            log.warning("authentication is off: this computer alone is answered, no proof is asked")
        published = PublishedKeys(auth.jwks_url) if auth.jwks_url else None
        return cls(auth, settings.user or login_name(), published)

    @property
    def on(self) -> bool:
        """Whether callers have to prove who they are."""
        return self._auth.on

    async def caller(
        self, headers: Mapping[str, str], peer: str | None, *, allow_studio: bool = False
    ) -> Caller:
        """Authenticates a request by its headers (names in lower case) and the address `peer`.

        A cookie, or no credential at all, counts only from this server's own pages, those of LangGraph
        Studio where `allow_studio` says so, and programs. Raises NotAuthenticated.
        """
        caller = await self._caller_from_headers(headers) if self.on else self._local
        if caller.kind == "local" and not is_local(headers, peer):
            raise OriginRefused("auth_local_only")
        origin = foreign_origin(headers) if caller.by_cookie or caller.kind == "local" else None
        if origin is not None and not (allow_studio and is_studio(origin)):
            raise OriginRefused("auth_other_site", origin=origin[:100])
        return caller

    async def _caller_from_headers(self, headers: Mapping[str, str]) -> Caller:
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        sent = bearer.strip() if scheme.casefold() == "bearer" else headers.get("x-api-key", "").strip()
        cookie = "" if sent else cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return await self.caller_of(sent or cookie, by_cookie=bool(cookie))

    async def caller_of(self, credential: str, *, by_cookie: bool = False) -> Caller:
        """The owner of a token or key; raises NotAuthenticated."""
        if not credential:
            raise NotAuthenticated("auth_missing")
        if len(credential) > MAX_TOKEN_CHARS or not credential.isascii():
            raise NotAuthenticated("auth_refused")
        if credential.startswith(KEY_PREFIX):
            return Caller(self._user_of_key(credential), "key", by_cookie)
        return Caller(await self._user_of_token(credential), "token", by_cookie)

    def _user_of_key(self, key: str) -> str:
        """The user of an API key; all keys are compared, so that timing tells nothing."""
        digest = digest_of(key)
        users = [known.user for known in self._auth.api_keys if hmac.compare_digest(known.digest, digest)]
        if not users:
            raise NotAuthenticated("auth_refused")
        return users[0]

    async def _user_of_token(self, token: str) -> str:
        """The user of a token. Why one is refused is logged, not told to the caller."""
        try:
            claims = await self._claims(token)
        except jwt.ExpiredSignatureError:
            raise NotAuthenticated("auth_expired") from None
        except (jwt.PyJWTError, RecursionError) as error:  # the latter: JSON nested a thousand deep
            log.info("a token was refused: %s", type(error).__name__)
            raise NotAuthenticated("auth_refused") from None
        user: str = claims["sub"]
        if not user.strip() or len(user) > 200 or not user.isprintable():
            raise NotAuthenticated("auth_refused")
        return user

    async def _claims(self, token: str) -> dict[str, Any]:
        """The verified claims. The algorithm's family picks the key: neither is used for the other."""
        header = jwt.get_unverified_header(token)
        key: jwt.PyJWK | str
        allowed: tuple[str, ...] = PUBLISHED_ALGORITHMS
        if header.get("alg") == "HS256" and self._auth.secret is not None:
            key, allowed = self._auth.secret.get_secret_value(), ("HS256",)
        elif header.get("alg") in PUBLISHED_ALGORITHMS and self._published is not None:
            found = await self._published.find(header.get("kid"))
            if found is None:
                raise jwt.InvalidKeyError("no such key")
            key = found
        else:
            raise jwt.InvalidAlgorithmError("not one of ours")
        return jwt.decode(
            token,
            key,
            algorithms=allowed,
            audience=self._auth.audience,
            issuer=self._auth.issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "sub"], "enforce_minimum_key_length": True},
        )


def check_bind_address(host: str, settings: Settings) -> None:
    """InputRefused when a server without authentication would be reached from other computers."""
    if not settings.auth.on and not is_loopback(host):
        raise InputRefused("listening_open", host=host or "*")
