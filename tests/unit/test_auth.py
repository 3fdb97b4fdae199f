"""Who is calling: every proof that counts, and everything that only looks like one."""

import hashlib
import hmac
import time
from typing import Any

import httpx
import jwt
import pytest

from support.callers import (
    AUDIENCE,
    ISSUER,
    KEYS,
    SECRET,
    URL,
    KeyServer,
    auth,
    claims,
    ec_key,
    public_pem,
    published,
    raw_token,
    rsa_key,
    token,
    unsigned,
)
from thoughtcycle.errors import InputRefused, NotAuthenticated
from thoughtcycle.runtime.auth_settings import AuthSettings, new_key
from thoughtcycle.runtime.settings import Settings, load_settings
from thoughtcycle.web.auth.callers import COOKIE, Authenticator, Caller, check_bind_address
from thoughtcycle.web.auth.jwks import FRESH_SECONDS, PAUSE_SECONDS, STALE_SECONDS, PublishedKeys

HOST = {"host": "localhost:8000"}


def bearer(value: str) -> dict[str, str]:
    return HOST | {"authorization": f"Bearer {value}"}


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def with_published(server: KeyServer, clock: Clock | None = None, **more: Any) -> Authenticator:
    keys = PublishedKeys(URL, transport=httpx.MockTransport(server), clock=clock or Clock())
    return Authenticator(auth(jwks_url=URL, **more), "local", keys)


async def refusal(authenticator: Authenticator, headers: dict[str, str], peer: str = "10.0.0.9") -> str:
    with pytest.raises(NotAuthenticated) as refused:
        await authenticator.caller(headers, peer)
    return refused.value.code


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (bearer(token()), Caller("ana", "token")),
        (bearer(token(sub="bob")), Caller("bob", "token")),
        ({"authorization": f"bearer  {token()}"}, Caller("ana", "token")),
        (bearer(token(aud=["other", AUDIENCE])), Caller("ana", "token")),
        (bearer(KEYS["ana"]), Caller("ana", "key")),
        ({"x-api-key": KEYS["bob"]}, Caller("bob", "key")),
        (bearer(KEYS["ana"]) | {"x-api-key": KEYS["bob"]}, Caller("ana", "key")),
        (HOST | {"cookie": f"a=b; {COOKIE}={KEYS['ana']}"}, Caller("ana", "key", by_cookie=True)),
        (
            HOST | {"cookie": f"{COOKIE}={token()}", "origin": "http://localhost:8000"},
            Caller("ana", "token", by_cookie=True),
        ),
        (bearer(KEYS["ana"]) | {"origin": "https://app.example"}, Caller("ana", "key")),
    ],
)
async def test_who_proves_it_is_admitted(headers: dict[str, str], expected: Caller) -> None:
    assert await Authenticator(auth(), "local").caller(headers, "10.0.0.9") == expected


async def test_clocks_may_differ_a_little() -> None:
    just_over = bearer(token(exp=int(time.time()) - 5))
    assert await Authenticator(auth(), "local").caller(just_over, None) == Caller("ana", "token")


@pytest.mark.spec("BY-5")
@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "auth_missing"),
        ({"authorization": ""}, "auth_missing"),
        ({"authorization": "Bearer "}, "auth_missing"),
        ({"authorization": f"Basic {KEYS['ana']}"}, "auth_missing"),
        ({"x-auth-scheme": "langsmith"}, "auth_missing"),
        ({"cookie": f"other={KEYS['ana']}"}, "auth_missing"),
        (bearer(token(exp=int(time.time()) - 60)), "auth_expired"),
        (bearer(token("another secret of the right length")), "auth_refused"),
        (bearer(token(aud="other")), "auth_refused"),
        (bearer(token(aud=None)), "auth_refused"),
        (bearer(token(iss="https://evil.example")), "auth_refused"),
        (bearer(token(iss=None)), "auth_refused"),
        (bearer(token(exp=None)), "auth_refused"),
        (bearer(token(sub=None)), "auth_refused"),
        (bearer(token(sub=" ")), "auth_refused"),
        (bearer(token(sub="a" * 201)), "auth_refused"),
        (bearer(token(sub="ana\x1fstore")), "auth_refused"),
        (bearer(token(nbf=int(time.time()) + 86_400)), "auth_refused"),
        (bearer(token(algorithm="HS512", key=SECRET * 2)), "auth_refused"),
        (bearer(token(rsa_key("theirs"), "RS256")), "auth_refused"),
        (bearer(unsigned()), "auth_refused"),
        (bearer(unsigned().replace("none", "NONE")), "auth_refused"),
        (bearer(token()[:-4] + "AAAA"), "auth_refused"),
        (bearer(token() + "." + token()), "auth_refused"),
        (bearer("a.b.c"), "auth_refused"),
        (bearer("é.b.c"), "auth_refused"),
        (bearer(raw_token({"alg": "HS256"}, b"[" * 5000)), "auth_refused"),
        (bearer(raw_token({"alg": ["HS256"]}, b"{}")), "auth_refused"),
        (bearer(token(more="x" * 9000)), "auth_refused"),
        (bearer("[" * 5000 + ".a.b"), "auth_refused"),
        (bearer(new_key()), "auth_refused"),
        (bearer("tc_"), "auth_refused"),
        (bearer(KEYS["ana"][:-1]), "auth_refused"),
        ({"x-api-key": new_key()}, "auth_refused"),
        (HOST | {"cookie": f"{COOKIE}={new_key()}"}, "auth_refused"),
        (HOST | {"cookie": f"{COOKIE}={KEYS['ana']}", "origin": "https://evil.example"}, "auth_other_site"),
        (HOST | {"cookie": f"{COOKIE}={KEYS['ana']}", "origin": "null"}, "auth_other_site"),
        (HOST | {"cookie": f"{COOKIE}={KEYS['ana']}", "origin": "http://["}, "auth_other_site"),
        ({"host": "", "cookie": f"{COOKIE}={KEYS['ana']}", "origin": "http://["}, "auth_other_site"),
        (HOST | {"cookie": f"{COOKIE}={KEYS['ana']}", "origin": "http://localhost:9000"}, "auth_other_site"),
    ],
)
async def test_who_does_not_is_refused(headers: dict[str, str], code: str) -> None:
    assert await refusal(Authenticator(auth(), "local"), headers) == code


@pytest.mark.parametrize("name", ["ec1", "rsa1"])
async def test_published_keys(name: str) -> None:
    server = KeyServer("ec1", "rsa1")
    authenticator = with_published(server)
    private, algorithm = (ec_key(name), "ES256") if name == "ec1" else (rsa_key(name), "RS256")
    for _ in range(3):
        good = token(private, algorithm, kid=name)
        assert await authenticator.caller(bearer(good), "10.0.0.9") == Caller("ana", "token")
    assert server.asked == 1
    assert await refusal(authenticator, bearer(token(private, algorithm))) == "auth_refused"
    stolen_name = token(rsa_key("theirs"), "RS256", kid=name)
    assert await refusal(authenticator, bearer(stolen_name)) == "auth_refused"


async def test_a_key_serves_one_algorithm_only() -> None:
    """The public key as an HS256 secret, the secret as a published key, a key under another's algorithm."""
    server = KeyServer("rsa1", "ec1")
    server.keys.append({"kty": "oct", "kid": "shared", "k": "c2VjcmV0IHRoYXQgZXZlcnlib2R5IGtub3dzIGhlcmU"})
    payload = b'{"sub":"ana"}'
    confused = raw_token({"alg": "HS256", "kid": "rsa1"}, payload)
    signed = hmac.new(public_pem("rsa1"), confused.rpartition(".")[0].encode(), hashlib.sha256).digest()
    confused = raw_token({"alg": "HS256", "kid": "rsa1"}, payload, signed)
    shared = token("secret that everybody knows here", "HS256", kid="shared")
    crossed = token(rsa_key("rsa1"), "RS512", kid="rsa1")
    for authenticator in (with_published(server), with_published(server, secret=None)):
        for forged in (confused, shared, crossed):
            assert await refusal(authenticator, bearer(forged)) == "auth_refused"


async def test_a_new_key_is_found_and_asking_is_bounded() -> None:
    server, clock = KeyServer("rsa1"), Clock()
    authenticator = with_published(server, clock)
    old = token(rsa_key("rsa1"), "RS256", kid="rsa1")
    new = token(rsa_key("rsa2"), "RS256", kid="rsa2")
    assert (await authenticator.caller(bearer(old), None)).user == "ana"
    server.keys = KeyServer("rsa2").keys
    for _ in range(20):
        assert await refusal(authenticator, bearer(new)) == "auth_refused"
    assert server.asked == 1
    clock.now += PAUSE_SECONDS + 1
    assert (await authenticator.caller(bearer(new), None)).user == "ana"
    assert await refusal(authenticator, bearer(old)) == "auth_refused"
    assert server.asked == 2


async def test_keys_are_renewed_behind_and_outlive_an_outage_of_a_day() -> None:
    server, clock = KeyServer("rsa1"), Clock()
    authenticator = with_published(server, clock)
    good = bearer(token(rsa_key("rsa1"), "RS256", kid="rsa1"))
    await authenticator.caller(good, None)
    server.status = 500
    clock.now += FRESH_SECONDS + 1
    assert (await authenticator.caller(good, None)).user == "ana"
    clock.now += STALE_SECONDS
    assert await refusal(authenticator, good) == "auth_unavailable"
    server.status = 200
    clock.now += PAUSE_SECONDS + 1
    assert (await authenticator.caller(good, None)).user == "ana"


@pytest.mark.parametrize("keys", [5, [None], [published("rsa1") | {"alg": ["RS256"]}]])
async def test_what_is_published_and_no_key(keys: Any) -> None:
    server = KeyServer()
    server.keys = keys
    good = bearer(token(rsa_key("rsa1"), "RS256", kid="rsa1"))
    assert await refusal(with_published(server), good) == "auth_unavailable"


async def test_keys_that_never_came() -> None:
    server = KeyServer("rsa1")
    server.status = 500
    authenticator = with_published(server)
    good = bearer(token(rsa_key("rsa1"), "RS256", kid="rsa1"))
    assert [await refusal(authenticator, good) for _ in range(3)] == ["auth_unavailable"] * 3
    assert server.asked == 1


@pytest.mark.parametrize(
    ("headers", "peer", "expected"),
    [
        (HOST, "127.0.0.1", None),
        (HOST, None, None),
        ({"host": "[::1]:8000"}, "::1", None),
        (HOST | {"origin": "http://localhost:8000"}, "127.0.0.1", None),
        (HOST, "10.0.0.9", "auth_local_only"),
        (HOST | {"x-forwarded-for": "203.0.113.9"}, "127.0.0.1", "auth_local_only"),
        ({"host": "evil.example"}, "127.0.0.1", "auth_local_only"),
        ({}, "127.0.0.1", "auth_local_only"),
        ({"host": "[::1"}, "127.0.0.1", "auth_local_only"),
        (HOST | {"origin": "http://["}, "127.0.0.1", "auth_other_site"),
        (HOST | {"origin": "https://evil.example"}, "127.0.0.1", "auth_other_site"),
        (HOST | {"origin": "null"}, "127.0.0.1", "auth_other_site"),
    ],
)
async def test_without_authentication_only_this_computer(
    headers: dict[str, str], peer: str | None, expected: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    authenticator = Authenticator.of(Settings(user="ana"))
    assert [record.message for record in caplog.records] == [
        "authentication is off: this computer alone is answered, no proof is asked"
    ]
    if expected is None:
        assert await authenticator.caller(headers, peer) == Caller("ana", "local")
    else:
        assert await refusal(authenticator, headers, peer or "") == expected


async def test_studio_is_admitted_where_it_is_allowed() -> None:
    authenticator = Authenticator(AuthSettings(), "ana")
    studio = HOST | {"origin": "https://smith.langchain.com"}
    found = await authenticator.caller(studio, "127.0.0.1", allow_studio=True)
    assert found.user == "ana"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.5", "example.com", "localhost.evil.com"])
def test_listening_beyond_loopback_needs_authentication(host: str) -> None:
    with pytest.raises(InputRefused) as refused:
        check_bind_address(host, Settings(auth=AuthSettings()))
    assert refused.value.code == "listening_open"
    check_bind_address(host, Settings(auth=auth()))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1", "[::1]"])
def test_listening_on_loopback_needs_none(host: str) -> None:
    check_bind_address(host, Settings(auth=AuthSettings()))


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"SECRET": "too short"}, "SECRET"),
        ({"API_KEYS": "ana"}, "API_KEYS"),
        ({"API_KEYS": ","}, "API_KEYS"),
        ({"API_KEYS": f":{'a' * 64}"}, "API_KEYS"),
        ({"API_KEYS": f"ana:{'a' * 64},bob:{'a' * 64}"}, "API_KEYS"),
        ({"JWKS_URL": "http://elsewhere.example/keys", "ISSUER": "i", "AUDIENCE": "a"}, "JWKS_URL"),
        ({"JWKS_URL": "file:///etc/passwd", "ISSUER": "i", "AUDIENCE": "a"}, "JWKS_URL"),
        ({"JWKS_URL": URL, "ISSUER": ISSUER}, "AUDIENCE"),
        ({"JWKS_URL": URL, "AUDIENCE": AUDIENCE}, "ISSUER"),
        ({"AUDIENCE": AUDIENCE}, "AUDIENCE"),
        ({"SEKRET": "x"}, "SEKRET"),
    ],
)
def test_a_bad_setting_is_one_line(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], named: str
) -> None:
    for name, value in values.items():
        monkeypatch.setenv(f"THOUGHTCYCLE_AUTH__{name}", value)
    with pytest.raises(InputRefused) as refused:
        load_settings()
    line = refused.value.text("pt")
    assert f"THOUGHTCYCLE_AUTH__{named}" in line and "\n" not in line
    assert values.get("SECRET", "too short") not in line and "passwd" not in line


def test_settings_are_read_and_no_secret_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THOUGHTCYCLE_AUTH__SECRET", SECRET)
    monkeypatch.setenv("THOUGHTCYCLE_AUTH__API_KEYS", f"ana:{'a' * 64}, b:b:{'B' * 64}")
    monkeypatch.setenv("THOUGHTCYCLE_AUTH__ISSUER", "")
    read = load_settings().auth
    assert read.on and read.issuer is None
    assert [(key.user, key.digest[0]) for key in read.api_keys] == [("ana", "a"), ("b:b", "b")]
    assert SECRET not in f"{read!r} {read} {load_settings()!r}" and "aaaa" not in repr(read)
    assert not AuthSettings().on


async def test_refusals_say_nothing_of_what_was_sent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    forged = jwt.encode(claims(), "another secret of the right length", "HS256")
    with pytest.raises(NotAuthenticated) as refused:
        await Authenticator(auth(), "local").caller(bearer(forged), None)
    assert forged not in f"{refused.value} {refused.value!r} {caplog.text}"
    assert "InvalidSignatureError" in caplog.text and "Signature" not in str(refused.value)
