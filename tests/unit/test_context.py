"""The context of a run is adapted once, checked, and never trusts a client about the user."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from thoughtcycle.errors import InputRefused, NotAllowed
from thoughtcycle.nodes.base.context import Context, adapt, context_of_run
from thoughtcycle.prompts.loader import LANGUAGES


@dataclass
class Foreign:
    user_id: str = "ana"
    language: str = "en"
    other: int = 1


def runtime(context: Any, identity: str | None = None) -> Any:
    server = SimpleNamespace(user=SimpleNamespace(identity=identity)) if identity else None
    return SimpleNamespace(context=context, server_info=server)


def test_any_shape_of_context_is_adapted() -> None:
    assert adapt(None) == Context()
    assert adapt({"user_id": "ana", "unknown": 1}) == Context(user_id="ana")
    assert adapt(Foreign()) == Context(user_id="ana", language="en")


def test_none_is_the_default_and_a_form_may_send_texts() -> None:
    given = {"user_id": "ana", "channel": None, "disabled_actions": None, "time_zone": None}
    assert context_of_run(runtime(given), adapt, None) == Context(user_id="ana")
    form = {"user_id": "ana", "incognito": "false", "max_steps": "3", "disabled_actions": ("Finish",)}
    assert context_of_run(runtime(form), adapt, None) == Context(
        user_id="ana", max_steps=3, disabled_actions=["Finish"]
    )
    unfilled = dict.fromkeys(("channel", "language", "time_zone", "persona", "max_steps", "incognito"), "")
    assert context_of_run(runtime({"user_id": "ana", **unfilled}), adapt, None) == Context(user_id="ana")


def test_the_authenticated_user_wins_over_the_clients() -> None:
    assert context_of_run(runtime({"user_id": "eve"}, "ana"), adapt, "solo").user_id == "ana"
    assert context_of_run(runtime({"user_id": "eve"}), adapt, "solo").user_id == "eve"
    assert context_of_run(runtime(None), adapt, "solo").user_id == "solo"


def test_where_callers_are_asked_a_client_never_says_who_it_is() -> None:
    nobody = SimpleNamespace(context={"user_id": "eve"}, server_info=SimpleNamespace(user=None))
    with pytest.raises(NotAllowed, match="user"):
        context_of_run(nobody, adapt, "solo", public=True)
    assert context_of_run(runtime({"user_id": "eve"}, "ana"), adapt, None, public=True).user_id == "ana"
    assert (
        context_of_run(runtime({"user_id": "eve"}), adapt, None, public=True).user_id == "eve"
    )  # in process


def test_without_a_user_the_run_fails_closed() -> None:
    for given in (
        None,
        {"user_id": ""},
        {"user_id": "  "},
        {"user_id": "x" * 201},
        {"user_id": 7},
    ):
        with pytest.raises(NotAllowed, match="user"):
            context_of_run(runtime(given), adapt, None)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"language": 5}, "bad_setting"),
        ({"time_zone": 5}, "bad_setting"),
        ({"disabled_actions": "Finish"}, "bad_setting"),
        ({"disabled_actions": [5]}, "bad_setting"),
        ({"channel": ["web"]}, "bad_setting"),
        ({"incognito": "perhaps"}, "bad_setting"),
        ({"max_steps": 2.5}, "bad_setting"),
        ({"language": "klingon"}, "unknown_language"),
        ({"time_zone": "Mars/Olympus"}, "unknown_time_zone"),
        ({"time_zone": "../etc/passwd"}, "unknown_time_zone"),
        ({"time_zone": "\ud800"}, "unknown_time_zone"),
        ({"max_steps": 0}, "bad_setting"),
        ({"max_steps": 51}, "bad_setting"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(values: dict[str, Any], code: str) -> None:
    with pytest.raises(InputRefused) as refused:
        context_of_run(runtime({"user_id": "ana", **values}), adapt, None)
    assert refused.value.code == code
    for language in LANGUAGES:
        line = refused.value.text(language)
        assert "\n" not in line and line.encode()
