"""After a change in a turn, nothing of the former text is in any later prompt of that turn."""

import json
from pathlib import Path

import pytest

from integration.test_tools_mode import tools_lab
from support.dialogue import HEAVY, REASON, TALK
from support.fake_openai import FakeOpenAI, ToolCall
from support.graphs import Lab, lab
from thoughtcycle.memory.model import MemoryDraft


def prompts(server: FakeOpenAI) -> list[str]:
    """All that each chat request said, in order."""
    asked = [request for request in server.requests if request.path.endswith("completions")]
    return [json.dumps(request.body["messages"], ensure_ascii=False) for request in asked]


async def known(cycle: Lab, content: str, **fields: object) -> str:
    draft = MemoryDraft.model_validate({"content": content, **fields})
    (saved,) = await cycle.memory.save("ana", [draft])
    return saved.record.id


@pytest.mark.spec("TC-10")
async def test_after_an_update_no_prompt_holds_the_former_text(
    tmp_path: Path, fake_openai: FakeOpenAI
) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        id = await known(cycle, "É alérgica a camarão", kind="bio")
        other = await known(cycle, "Alergia da filha: ovo", kind="bio")
        fake_openai.say("MemoryUpdate", "Finish", model=HEAVY)
        fake_openai.say(json.dumps([{"_id": id, "content": "É alérgica a amendoim"}]), model=REASON)
        fake_openai.say("Corrigi.", "Feito.", model=TALK)
        await cycle.say("A minha alergia é a amendoim", language="pt")
        before, asked, *after = prompts(fake_openai)
        assert "camarão" in before and "camarão" in asked
        assert len(after) == 3 and not [prompt for prompt in after if "camarão" in prompt]
        assert all("alérgica a amendoim" in prompt and "ovo" in prompt for prompt in after)
        state = (await cycle.graph.aget_state({"configurable": {"thread_id": "t"}})).values
        assert "camarão" not in json.dumps(state["briefing"]) and other in state["briefing"]["shown"]


@pytest.mark.spec("TC-10", "TC-4")
async def test_the_same_with_tools(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        id = await known(cycle, "É alérgica a camarão", kind="bio")
        change = [{"_id": id, "content": "É alérgica a amendoim"}]
        fake_openai.say(ToolCall("MemoryUpdate", {"memories": change}), "Corrigi.")
        await cycle.say("A minha alergia é a amendoim", language="pt")
        before, after = prompts(fake_openai)
        assert "camarão" in before and "camarão" not in after and "alérgica a amendoim" in after


@pytest.mark.spec("TC-9", "HM-6")
async def test_what_a_save_supersedes_is_gone_from_the_turn(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with lab(tmp_path, fake_openai) as cycle:
        await known(cycle, "Mora em Recife", kind="bio", key="home")
        fake_openai.say("MemorySave", "Finish", model=HEAVY)
        fake_openai.say(json.dumps([{"content": "Mora em Olinda"}]), model=REASON)
        fake_openai.say("Guardei.", "Feito.", model=TALK)
        await cycle.say("Agora eu moro em Olinda", language="pt")
        before, asked, *after = prompts(fake_openai)
        assert "Recife" in before and "Recife" in asked
        assert len(after) == 3 and not [prompt for prompt in after if "Recife" in prompt]


@pytest.mark.spec("TC-11", "BY-9")
@pytest.mark.parametrize("chatty", [True, False])
async def test_after_a_deletion_no_prompt_holds_the_deleted_text(
    tmp_path: Path, fake_openai: FakeOpenAI, chatty: bool
) -> None:
    async with lab(tmp_path, fake_openai, explain="on" if chatty else "auto") as cycle:
        id = await known(cycle, "O médico é o Dr. Zuza", bindings=("médico",))
        fake_openai.say("MemorySearch", "MemoryDelete", *["Finish"] * chatty, model=HEAVY)
        fake_openai.say('["médico Dr. Zuza"]', json.dumps([id]), model=REASON)
        told = ("Achei: o médico é o Dr. Zuza.", "Apaguei.") if chatty else ()
        fake_openai.say(*told, "Feito.", model=TALK)
        await cycle.say("Esqueça meu médico.", language="pt")
        asked = [request.model for request in fake_openai.requests if request.path.endswith("completions")]
        at = len(asked) - asked[::-1].index(REASON)
        before, after = prompts(fake_openai)[:at], prompts(fake_openai)[at:]
        assert "Zuza" in before[0] and "Zuza" in before[-1] and after
        assert not [prompt for prompt in after if "Zuza" in prompt]
        state = (await cycle.graph.aget_state({"configurable": {"thread_id": "t"}})).values
        assert "Zuza" not in str(state) and fake_openai.left == 0


@pytest.mark.spec("TC-11", "BY-9")
async def test_a_deletion_with_tools_leaves_nothing_either(tmp_path: Path, fake_openai: FakeOpenAI) -> None:
    async with tools_lab(tmp_path, fake_openai) as cycle:
        id = await known(cycle, "O médico é o Dr. Zuza", bindings=("médico",))
        search = ToolCall("MemorySearch", {"contexts": ["médico Dr. Zuza"]})
        fake_openai.say(search, ToolCall("MemoryDelete", {"ids": [id]}), "Feito.")
        await cycle.say("Esqueça meu médico.", language="pt")
        _, found, after = prompts(fake_openai)
        assert "Zuza" in found and "Zuza" not in after
