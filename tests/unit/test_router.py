"""A sloppy answer still names an action; an unclear one does not."""

import pytest

from thoughtcycle.nodes.router import parse_action

NAMES = ["MemorySearch", "MemorySave", "MemoryUpdate", "MemoryDelete", "Question", "Finish"]


@pytest.mark.spec("TC-4")
@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("MemorySearch", "MemorySearch"),
        ("memorysearch", "MemorySearch"),
        (" MEMORY_SEARCH \n", "MemorySearch"),
        ("memory search", "MemorySearch"),
        ("'Finish'", "Finish"),
        ('"Finish".', "Finish"),
        ("**Question**", "Question"),
        ("`memory-save`", "MemorySave"),
        ("The next action is MemorySave.", "MemorySave"),
        ("A próxima ação é: Finish!", "Finish"),
        ("Action: memory update", "MemoryUpdate"),
        ("I would choose Finish, yes, Finish", "Finish"),
        ("MemorySearch or MemorySave", None),
        ("Dance", None),
        ("", None),
        ("finishing touches", None),
    ],
)
def test_resolve(answer: str, name: str | None) -> None:
    assert parse_action(answer, NAMES) == name
