"""Tokens and keys of every kind of caller, and the settings of a server that admits the right ones."""

import base64
import json
import time
from functools import cache
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from thoughtcycle.runtime.auth_settings import ApiKey, AuthSettings, digest_of, new_key

SECRET = "a secret that only the two of us know"
URL = "https://issuer.example/keys"
ISSUER, AUDIENCE = "https://issuer.example", "thoughtcycle"

KEYS = {user: new_key() for user in ("ana", "bob")}


def auth(**more: Any) -> AuthSettings:
    """HS256 by `SECRET`, and an API key for each of `KEYS`."""
    keys = tuple(ApiKey(user, digest_of(key)) for user, key in KEYS.items())
    given = {"secret": SECRET, "issuer": ISSUER, "audience": AUDIENCE, "api_keys": keys} | more
    return AuthSettings.model_validate(given)


def claims(**more: Any) -> dict[str, Any]:
    """Ana's good claims, for a day: tests run long after they were collected. One given as None is left out."""
    now = int(time.time())
    given = {"sub": "ana", "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 86_400} | more
    return {name: value for name, value in given.items() if value is not None}


def token(key: Any = SECRET, algorithm: str = "HS256", kid: str | None = None, **more: Any) -> str:
    """A signed token of these claims."""
    return jwt.encode(claims(**more), key, algorithm, headers={"kid": kid} if kid else None)


def raw_token(header: dict[str, Any], payload: bytes, signature: bytes = b"") -> str:
    """A token put together by hand."""
    parts = (json.dumps(header).encode(), payload, signature)
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


def unsigned() -> str:
    """`alg: none`, the oldest trick."""
    return raw_token({"alg": "none", "typ": "JWT"}, json.dumps(claims()).encode())


@cache
def rsa_key(name: str) -> rsa.RSAPrivateKey:
    """A key pair; the same for the same name."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def ec_key(name: str) -> ec.EllipticCurvePrivateKey:
    """A key pair; the same for the same name."""
    return ec.generate_private_key(ec.SECP256R1())


def public_pem(name: str) -> bytes:
    """The public half of an RSA pair, as it is handed around."""
    return rsa_key(name).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def published(name: str) -> dict[str, Any]:
    """The public half of a pair as an entry of a key set; names with "ec" are elliptic."""
    if "ec" in name:
        entry = ECAlgorithm.to_jwk(ec_key(name).public_key(), as_dict=True)
    else:
        entry = RSAAlgorithm.to_jwk(rsa_key(name).public_key(), as_dict=True)
    return {**entry, "kid": name}


class KeyServer:
    """The address at which keys are published: what it says, and how often it was asked."""

    def __init__(self, *names: str) -> None:
        self.keys: list[dict[str, Any]] = [published(name) for name in names]
        self.status = 200
        self.asked = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert str(request.url) == URL
        self.asked += 1
        return httpx.Response(self.status, json={"keys": self.keys})
