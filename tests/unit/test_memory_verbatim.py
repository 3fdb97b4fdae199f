"""A chat that goes takes its words out of texts that others share, as they stand."""

import pytest

from support.memories import START, said
from thoughtcycle.memory.model import Cycle
from thoughtcycle.memory.redaction.chat_words import verbatim
from thoughtcycle.memory.text.spans import HIDDEN


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("meu nome é Pedro", HIDDEN),
        (" ok ", HIDDEN),
        ("tudo ok aqui", "tudo ok aqui"),
        ("Você disse: meu nome é Pedro. Certo?", f"Você disse: {HIDDEN}. Certo?"),
        (f"meu {HIDDEN} Pedro", HIDDEN),
        (f"teu {HIDDEN} Pedro", f"teu {HIDDEN} Pedro"),
        ("Pedro", "Pedro"),
        ("", ""),
    ],
)
def test_words_go_as_they_were_said(text: str, left: str) -> None:
    messages = said("meu nome é Pedro\nok", id="1"), said("ok", id="2")
    cycles = [
        Cycle(
            id=message.id,
            user="ana",
            chat="a",
            channel="cli",
            parent=None,
            message=message,
            opened_at=START,
            heartbeat=START,
        )
        for message in messages
    ]
    mask = verbatim(cycles)
    assert mask.text(text) == mask.since(START).reply(text) == left
    assert [mask.takes(id) for id in ("1", "2", "3", None)] == [True, True, False, False]
    assert mask and not verbatim([])
