"""The proof of forgetting: what it plants, finds, erases and does not find again, and how its receipt is checked."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.databases import MONGODB_IN_TORTURE
from support.survivors import survivors
from thoughtcycle.checkpoints.erasure import bound
from thoughtcycle.checkpoints.factory import open_checkpointer
from thoughtcycle.errors import InputRefused
from thoughtcycle.graph import create_thought_cycle
from thoughtcycle.memory.memory import Memory
from thoughtcycle.memory.model import STATUSES, CycleMessage, MemoryDraft
from thoughtcycle.mind.rules import RuleMind
from thoughtcycle.nodes.base.context import Context
from thoughtcycle.proof import receipt as receipts
from thoughtcycle.proof.evidence import Scene
from thoughtcycle.proof.receipt import ProofReceipt
from thoughtcycle.proof.service import Prover

ON_SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""What is the same whatever the database."""


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that take no time."""
    monkeypatch.setattr(receipts, "COST", {"n": 2, "r": 8, "p": 1})


class Bench:
    """A user's chats and the proofs of erasing them."""

    def __init__(self, memory: Memory, saver: Any, url: str, spool: Path) -> None:
        self.memory, self.saver, self.url, self.spool = memory, saver, url, spool
        self._graph = create_thought_cycle(memory=memory, mind=RuleMind(), checkpointer=saver)

    async def say(self, text: str, user: str = "ana") -> None:
        await self._graph.ainvoke(
            {"messages": [("user", text)]},
            {"configurable": {"thread_id": f"t-{user}"}},
            context=Context(user_id=user, language="pt"),
        )

    async def learn(self, *texts: str) -> None:
        await self.memory.save("ana", [MemoryDraft(content=text) for text in texts])

    async def ids(self, *words: str, user: str = "ana") -> list[str]:
        records = await self.memory.list(user, statuses=("active", "hidden"))
        return [one.id for one in records if any(word in one.text for word in words)]

    def prover(self, user: str = "ana", *also: Path) -> Prover:
        return Prover(self.memory, self.saver, Scene.of(self.url, user, self.spool, also))


@pytest.fixture
async def bench(database_url: str, tmp_path: Path) -> AsyncIterator[Bench]:
    async with Memory.open(database_url, embeddings=None) as memory, open_checkpointer(database_url) as saver:
        bound(memory, saver)
        yield Bench(memory, saver, database_url, tmp_path / "spool")


def shown(proof: ProofReceipt) -> str:
    return f"{proof.result} {proof.after.there} {proof.after.kept} {proof.before.there}"


@pytest.mark.spec("BY-14")
async def test_an_erasure_is_proved_and_the_receipt_checked(bench: Bench) -> None:
    await bench.say("Meu nome é Zoroastro e moro em Natal.")
    await bench.say("Meu nome é Zoroastro.", user="bia")
    await bench.say("Qual é o meu nome?")
    profile = (await bench.memory.profile("ana")).entries
    erased, proof = await bench.prover().erase(await bench.ids("Zoroastro"))
    assert proof.result == "gone", shown(proof)
    assert (proof.after.there, proof.after.kept, erased.left) == ((), (), ())
    tables = {one.place.rpartition(": ")[2].partition(".")[0] for one in proof.before.there if one.words}
    assert {"memories", "cycles", "checkpoints"} <= tables
    assert [one.text for one in await bench.memory.list("ana")] == ["Mora em Natal"]
    assert (await bench.memory.profile("ana")).entries == profile
    assert {one.id for one in await bench.memory.chats("ana")} == {"t-ana"}
    assert "oroastro" not in proof.model_dump_json().lower()
    again = await bench.prover().check(proof, ["zoroástro"])
    assert again.result == "gone"
    for words, code in ((["Zoroastro", "Zaratustra"], "proof_word"), ([], "proof_no_words")):
        with pytest.raises(InputRefused) as refused:
            await bench.prover().check(proof, words)
        assert refused.value.code == code


@ON_SQLITE
@pytest.mark.spec("BY-14")
async def test_what_an_erasure_leaves_fails_the_proof(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.say("Meu nome é Zoroastro e moro em Natal.")

    async def redact_nothing(*_: object) -> int:
        return 0

    monkeypatch.setattr(bench.saver, "aredact", redact_nothing)
    erased, proof = await bench.prover().erase(await bench.ids("Zoroastro"))
    assert proof.result == "found" and erased.left == (), shown(proof)
    named = [one for one in proof.after.there if "checkpoints" in one.place]
    assert named and all(one.markers and one.words for one in named)
    assert named[0].place in proof.text("pt") and named[0].place in proof.text("en")


@ON_SQLITE
@pytest.mark.spec("BY-14")
async def test_words_of_memories_that_stay_are_listed_and_no_failure(bench: Bench) -> None:
    await bench.learn("Meu irmão se chama Zoroastro", "Meu cachorro se chama Zoroastro")
    first, second = await bench.ids("Zoroastro")
    _, proof = await bench.prover().erase([first])
    assert proof.result == "gone" and proof.after.kept, shown(proof)
    _, last = await bench.prover().erase([second])
    assert last.result == "gone" and not last.after.kept, shown(last)


@ON_SQLITE
@pytest.mark.spec("BY-14")
async def test_copies_that_are_known_of_are_searched_too(bench: Bench, tmp_path: Path) -> None:
    await bench.learn("Nome: Zoroastro")
    export = tmp_path / "export.jsonl"
    export.write_text("".join([json.dumps(line) async for line in bench.memory.export("ana")]))
    _, proof = await bench.prover("ana", export).erase(await bench.ids("Zoroastro"))
    assert proof.result == "found"
    assert [(one.place, one.markers) for one in proof.after.there] == [("export.jsonl", 0)]
    export.unlink()
    assert (await bench.prover("ana").check(proof, ["Zoroastro"])).result == "gone"


@ON_SQLITE
@pytest.mark.spec("BY-14")
async def test_a_hidden_memory_is_proved_although_its_words_were_said_anew(bench: Bench) -> None:
    await bench.learn("Nome: Zoroastro")
    ids = await bench.ids("Zoroastro")
    await bench.memory.hide("ana", ids)
    await bench.say("O profeta Zoroastro nasceu onde?")
    _, proof = await bench.prover().erase(ids)
    assert proof.result == "gone" and proof.after.kept, shown(proof)


@MONGODB_IN_TORTURE
@pytest.mark.spec("BY-4", "BY-14")
async def test_a_forgotten_user_is_proved(bench: Bench, tmp_path: Path) -> None:
    await bench.say("Meu nome é Zoroastro e moro em Quixadá.")
    await bench.say("Meu nome é Zoroastro.", user="bia")
    farewell, proof = await bench.prover().forget_user()
    assert proof.result == "gone" and farewell.left == {}, shown(proof)
    assert survivors(bench.url, tmp_path, "ana", ["Quixadá", *proof.markers]) == []
    assert await bench.memory.list("ana", statuses=STATUSES) == []
    assert len(await bench.ids("Zoroastro", user="bia")) == 1
    assert (await bench.prover().check(proof, ["Quixadá"])).result == "gone"


@ON_SQLITE
@pytest.mark.spec("BY-14")
async def test_a_turn_under_way_holds_up_erasure_and_proof(bench: Bench) -> None:
    await bench.learn("Nome: Zoroastro")
    message = CycleMessage(id="m", role="user", text="Oi", at=bench.memory.core.clock())
    cycle = await bench.memory.transcript.open_cycle("ana", "t", message, parent=None, channel="test")
    erased, proof = await bench.prover().erase(await bench.ids("Zoroastro"))
    assert (erased.waiting > 0, proof.result) == (True, "waiting"), shown(proof)
    assert (await bench.prover().check(proof, ["Zoroastro"])).result == "found"
    await bench.memory.transcript.cut_short("ana", "t")
    assert (await bench.memory.erasure.finish_erasing("ana")) is not None
    assert cycle.chat in {one.id for one in await bench.memory.chats("ana")}
    assert (await bench.prover().check(proof, ["Zoroastro"])).result == "gone"


@ON_SQLITE
@pytest.mark.spec("BY-14")
async def test_a_search_that_does_not_see_proves_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.learn("Nome: Zoroastro")

    async def plant_nothing(*_: object, **__: object) -> None:
        return None

    monkeypatch.setattr("thoughtcycle.proof.markers._observe", plant_nothing)
    monkeypatch.setattr("thoughtcycle.proof.markers._summarise", plant_nothing)
    _, proof = await bench.prover().erase(await bench.ids("Zoroastro"))
    assert proof.result == "blind", shown(proof)
