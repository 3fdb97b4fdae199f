"""The settings of a deployment, read from the environment."""

import pytest

from thoughtcycle.errors import InputRefused
from thoughtcycle.runtime.settings import load_settings


def test_a_folder_of_snapshots_is_to_be_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THOUGHTCYCLE_SNAPSHOTS", "/somewhere")
    with pytest.raises(InputRefused) as refused:
        load_settings()
    for language, delete in (("pt", "Apague a pasta"), ("en", "Delete the folder")):
        line = refused.value.text(language)
        assert delete in line and "THOUGHTCYCLE_SNAPSHOTS" in line and "\n" not in line


def test_tuning_is_on_or_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().web.tuning
    monkeypatch.setenv("THOUGHTCYCLE_WEB__TUNING", "false")
    assert not load_settings().web.tuning
    monkeypatch.setenv("THOUGHTCYCLE_WEB__TUNING", "sometimes")
    with pytest.raises(InputRefused) as refused:
        load_settings()
    line = refused.value.text("en")
    assert "THOUGHTCYCLE_WEB__TUNING" in line and "true | false" in line
