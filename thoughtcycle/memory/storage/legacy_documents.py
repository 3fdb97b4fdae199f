"""Converts documents from before conversations had entries (pure); used by migrations only, never changed."""

import json
from typing import Any

_PARTS = ("old_memory", "periods", "critical_data", "ledger")
_SETTINGS = ("smart_context", "language", "time_zone")


def divided(document: Any, annex: Any) -> tuple[Any, dict[str, Any]]:
    """A conversation's document and entries; an unreadable document stays as it is, for doctor to report."""
    try:
        fields = json.loads(document)
        parts = {part: fields.pop(part) for part in _PARTS if part in fields}
        if annex:
            grown = json.loads(annex)
            rolled = {(len(ids), ids[0] if ids else ""): ids for ids in grown["rolled"]}
            for period in parts["periods"]:
                period["cycle_ids"] = rolled[period.pop("cycles"), period.pop("first")]
            parts["ledger"] = grown["ledger"]
        parts["cycle_ids"] = [period["cycle_ids"] for period in parts["periods"]]
        fields["rolled"] = sum(map(len, parts["cycle_ids"]))
        parts["periods"] = [period | {"cycle_ids": period["cycle_ids"][:1]} for period in parts["periods"]]
        entries = {part: list(map(_text, found)) for part, found in parts.items()}
    except (ValueError, TypeError, AttributeError, LookupError):
        return document, {}
    return _text(fields), entries


def _text(value: Any) -> str:
    """JSON with readable words; raises UnicodeEncodeError for text that is no Unicode."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    text.encode()
    return text


def settings_of(document: Any) -> dict[str, Any]:
    """The columns of settings; where `paused` cannot be read, collection is paused."""
    try:
        found = json.loads(document)
    except (ValueError, TypeError):
        found = None
    if not isinstance(found, dict):
        return {"paused": True}
    paused = found.get("paused", False)
    valid = {name: found[name] for name in _SETTINGS if isinstance(found.get(name), str | bool)}
    return {**valid, "paused": paused if isinstance(paused, bool) else True}
