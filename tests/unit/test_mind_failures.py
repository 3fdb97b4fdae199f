"""Every cause of a failed model call has its own line, in both languages, without the server's words."""

import re
import traceback

import openai
import pytest
from httpx2 import Request, Response
from langchain_openai.chat_models.base import OpenAIContextOverflowError

from thoughtcycle.errors import ModelFailed
from thoughtcycle.mind.failures import (
    LONGEST_WAIT,
    PAUSE,
    call_with_retries,
    retry_delay,
    to_model_failed,
    translating_errors,
)
from thoughtcycle.mind.model_settings import Endpoint
from thoughtcycle.prompts.loader import LANGUAGES, texts

ENDPOINT = Endpoint("chat", "gpt-x", "http://ana:hidden@host:8/v1", timeout=1.5)
REQUEST = Request("POST", "http://host:8/v1")


def status(code: int, **headers: str) -> openai.APIStatusError:
    answer = Response(
        code, request=REQUEST, headers={name.replace("_", "-"): v for name, v in headers.items()}
    )
    return openai.APIStatusError("hidden body", response=answer, body="hidden")


def refused() -> Exception:
    error = openai.APIConnectionError(request=REQUEST)
    error.__cause__ = ConnectionRefusedError()
    return error


TABLE = [
    (status(401), "model_key"),
    (status(403), "model_key"),
    (status(404), "model_address"),
    (status(408), "model_timeout"),
    (status(429), "model_limit"),
    (status(500), "model_down"),
    (status(503), "model_down"),
    (status(400), "model_request"),
    (TimeoutError(), "model_timeout"),
    (openai.APITimeoutError(REQUEST), "model_timeout"),
    (refused(), "model_unreachable"),
    (openai.APIConnectionError(request=REQUEST), "model_cut"),
    (ConnectionResetError(), "model_cut"),
    (ValueError("hidden page"), "model_protocol"),
    (openai.APIError("hidden event", REQUEST, body=None), "model_down"),
    (
        OpenAIContextOverflowError("hidden", response=Response(400, request=REQUEST), body=None),
        "model_overflow",
    ),
    (ZeroDivisionError(), "model_unknown"),
]


@pytest.mark.parametrize(("error", "code"), TABLE, ids=lambda value: value if isinstance(value, str) else "")
def test_causes(error, code):
    failure = to_model_failed(error, ENDPOINT)
    assert failure.code == code
    for language in LANGUAGES:
        line = failure.text(language)
        assert "gpt-x" in line
        assert "hidden" not in line
        assert "\n" not in line


def test_every_model_error_is_told_in_both_languages_with_the_same_placeholders():
    portuguese, english = (texts(language, "errors") for language in LANGUAGES)
    codes = [code for code in english.sections if code.startswith("model_")]
    assert len(codes) >= 14
    for code in codes:
        assert set(re.findall(r"{{\w+}}", portuguese[code])) == set(re.findall(r"{{\w+}}", english[code]))


def test_the_servers_words_are_not_in_tracebacks():
    with pytest.raises(ModelFailed) as failed, translating_errors(ENDPOINT):
        raise status(401)
    assert "hidden" not in "".join(traceback.format_exception(failed.value))


def test_an_unexpected_error_keeps_its_cause():
    with pytest.raises(ModelFailed) as failed, translating_errors(ENDPOINT):
        raise ZeroDivisionError("detail")
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("error", "pause"),
    [
        (status(429), PAUSE),
        (status(429, retry_after="1.5"), 1.5),
        (status(429, retry_after=str(LONGEST_WAIT + 1)), None),
        (status(429, retry_after="Fri, 20 Nov 2026 12:00:00 GMT"), PAUSE),
        (status(500), PAUSE),
        (TimeoutError(), 0.0),
        (status(401), None),
        (status(404), None),
        (status(400), None),
    ],
)
def test_what_is_tried_again_and_when(error, pause):
    assert retry_delay(to_model_failed(error, ENDPOINT)) == pause


async def test_persist_tries_as_often_as_the_endpoint_says():
    calls = []

    async def call() -> str:
        calls.append(1)
        if len(calls) < 3:
            raise TimeoutError
        return "ok"

    with pytest.raises(ModelFailed):
        await call_with_retries(Endpoint("chat", "m", max_retries=1), call)
    calls.clear()
    assert await call_with_retries(Endpoint("chat", "m", max_retries=2), call) == "ok"
    assert len(calls) == 3
