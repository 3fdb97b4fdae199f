"""A sloppy answer still names an action; a chatty one does not."""

import pytest

from thoughtcycle.nodes.actions.registry import discover
from thoughtcycle.nodes.name_decision import parse_action

NAMES = {name: action.called() for name, action in discover().items()}


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
        ("MemorySearch or MemorySave", "MemorySearch"),
        ("MemorySave, not Finish", "MemorySave"),
        ("Not Finish but MemorySave", "MemorySave"),
        ("não Finish, e sim MemorySave", "MemorySave"),
        ("Em vez de Finish, MemoryUpdate", "MemoryUpdate"),
        ("MemorySearch is not needed. Finish.", "Finish"),
        ("Salvar memória", "MemorySave"),
        ("save", "MemorySave"),
        ("SALVAR", "MemorySave"),
        ("Buscar na memória.", "MemorySearch"),
        ("Ação: atualizar", "MemoryUpdate"),
        ("forget", "MemoryDelete"),
        ("excluir memória", "MemoryDelete"),
        ("Perguntar", "Question"),
        ("Responder", "Finish"),
        ("reply", "Finish"),
        ('{"action": "MemorySave"}', "MemorySave"),
        ('```json\n{"action": "salvar"}\n```', "MemorySave"),
        ('{"name": "MemorySearch", "arguments": {"contexts": ["nome"]}}', "MemorySearch"),
        ('{"thought": "MemorySearch was done", "action": "Finish"}', "Finish"),
        ("MemorySave([{'content': 'x'}])", "MemorySave"),
        ("The memories are known, MemorySearch would not help here.\n\n**Finish**", "Finish"),
        ("The user told a fact, so the right action to take now would be memorysave.", "MemorySave"),
        ("That is a very good question! I can help you with that.", None),
        ("Olá! Vou pensar no que você me contou e já respondo, pode ser?", None),
        ("Claro, anotado! Vou me lembrar de que você prefere trem.", None),
        ("Dance", None),
        ("", None),
        ("finishing touches", None),
    ],
)
def test_an_answer_names_an_action(answer: str, name: str | None) -> None:
    assert parse_action(answer, NAMES) == name
