"""Settings of the model roles: defaults, inheritance, refusals, and no secret in sight."""

import pytest
from pydantic import SecretStr

from thoughtcycle.errors import InputRefused
from thoughtcycle.mind.model_settings import ModelSettings


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "THOUGHTCYCLE_MODEL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.spec("BY-3", "TC-14")
def test_nothing_set_means_rules_and_hashed_words():
    settings = ModelSettings()
    assert not settings.configured
    assert settings.embedding_endpoint() is None
    assert settings.masked()["embedding"] == {"model": "lexical"}


@pytest.mark.spec("TC-14")
def test_each_role_has_its_own_settings_over_common_ones(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-common")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://one:1/v1")
    monkeypatch.setenv("THOUGHTCYCLE_MODEL", "common")
    monkeypatch.setenv("THOUGHTCYCLE_REASONING_HEAVY__MODEL", "heavy")
    monkeypatch.setenv("THOUGHTCYCLE_REASONING_HEAVY__EFFORT", "high")
    monkeypatch.setenv("THOUGHTCYCLE_CHAT__BASE_URL", "http://two:2/v1")
    monkeypatch.setenv("THOUGHTCYCLE_CHAT__API_KEY", "sk-chat")
    monkeypatch.setenv("THOUGHTCYCLE_CHAT__TIMEOUT", "7.5")
    monkeypatch.setenv("THOUGHTCYCLE_EMBEDDING__MODEL", "embedder")
    settings = ModelSettings()
    heavy, chat, embedding = (
        settings.endpoint("reasoning_heavy"),
        settings.endpoint("chat"),
        settings.embedding_endpoint(),
    )
    assert (heavy.model, heavy.effort, heavy.host) == ("heavy", "high", "one:1")
    assert (chat.model, chat.host, chat.timeout) == ("common", "two:2", 7.5)
    assert chat.api_key == SecretStr("sk-chat")
    assert heavy.api_key == SecretStr("sk-common")
    assert embedding is not None
    assert (embedding.model, embedding.host) == ("embedder", "one:1")
    assert settings.configured


@pytest.mark.spec("TC-14", "CM-8")
def test_background_takes_from_reasoning_what_it_does_not_say():
    plain = ModelSettings(openai_api_key="k")
    assert plain.endpoint("background").timeout == 10
    settings = ModelSettings(
        openai_api_key="k",
        reasoning={"model": "r", "base_url": "http://r/v1", "effort": "high", "timeout": 30},
        background={"max_retries": 0},
    )
    endpoint = settings.endpoint("background")
    assert (endpoint.model, endpoint.host, endpoint.timeout, endpoint.max_retries) == ("r", "r", 30, 0)
    assert endpoint.effort == "low"


def test_fallback_is_off_unless_named():
    assert ModelSettings(openai_api_key="k").fallback_endpoint() is None
    endpoint = ModelSettings(openai_api_key="k", fallback={"model": "spare"}).fallback_endpoint()
    assert endpoint is not None
    assert (endpoint.role, endpoint.model) == ("fallback", "spare")


@pytest.mark.parametrize("model", ["none", "lexical"])
def test_embeddings_without_a_server_even_where_there_is_one(model):
    assert ModelSettings(openai_api_key="k", embedding={"model": model}).embedding_endpoint() is None


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("THOUGHTCYCLE_CHAT__TIMEOUT", "0", "0.1 … 3600"),
        ("THOUGHTCYCLE_CHAT__TIMEOUT", "soon", "0.1 … 3600"),
        ("THOUGHTCYCLE_REASONING__MAX_RETRIES", "99", "0 … 5"),
        ("THOUGHTCYCLE_REASONING__EFFORT", "extreme", "minimal | low"),
        ("THOUGHTCYCLE_EMBEDDING__BASE_URL", "ftp://secret:word@host", "http://host"),
        ("OPENAI_BASE_URL", "localhost:8000", "http://host"),
        ("THOUGHTCYCLE_CHAT__MODLE", "typo", "MODEL | BASE_URL"),
        ("THOUGHTCYCLE_CHAT", "gpt", "MODEL | BASE_URL"),
    ],
)
def test_a_bad_setting_is_one_line_that_names_it(monkeypatch, variable, value, expected):
    monkeypatch.setenv(variable, value)
    with pytest.raises(InputRefused) as refused:
        ModelSettings()
    for line in (refused.value.text("pt"), refused.value.text("en")):
        assert variable in line
        assert expected in line
        assert "\n" not in line
        assert "secret" not in line


def test_empty_variables_are_unset(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.setenv("THOUGHTCYCLE_CHAT__MODEL", "")
    assert not ModelSettings().configured


def test_no_secret_is_shown():
    settings = ModelSettings(
        openai_api_key="sk-hidden",
        openai_base_url="http://ana:pass-hidden@host/v1",
        chat={"api_key": "sk-hidden", "base_url": "http://ana:pass-hidden@chat:9/v1"},
    )
    shown = f"{settings!r} {settings} {settings.masked()} {settings.endpoint('chat')!r} {settings.chat!r}"
    assert "hidden" not in shown
    assert settings.masked()["chat"]["host"] == "chat:9"
    assert settings.masked()["chat"]["key"] == "***"
