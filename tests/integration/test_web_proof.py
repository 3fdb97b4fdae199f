"""The page's proofs of forgetting: asked for where something is erased, and handed over with the answer."""

import base64
import re
from pathlib import Path

import pytest

from support.callers import KEYS, auth
from support.web import web
from thoughtcycle.prompts.loader import texts
from thoughtcycle.proof import receipt as receipts
from thoughtcycle.proof.receipt import ProofReceipt

HTMX = {"hx-request": "true"}


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes that take no time."""
    monkeypatch.setattr(receipts, "COST", {"n": 2, "r": 8, "p": 1})


def receipt_of(html: str) -> tuple[ProofReceipt, str]:
    """The receipt that a page hands over, and its text."""
    (packed,) = re.findall(r'href="data:application/json;base64,([^"]+)" download="proof-[\d-]+\.json"', html)
    text = base64.b64decode(packed).decode()
    return ProofReceipt.model_validate_json(text), text


@pytest.mark.spec("BY-14")
async def test_an_erasure_on_the_page_is_proved_and_its_receipt_holds_no_words(tmp_path: Path) -> None:
    async with web(tmp_path, headers={"accept-language": "pt"}) as client:
        await client.post("/api/chats/c/messages", json={"message": "Meu nome é Zoroastro"})
        (one,) = (await client.get("/api/memories")).json()
        place, words = f"/memories/{one['id']}", texts("pt", "page")
        assert words["proof.ask"] in (await client.get(place, headers=HTMX)).text
        erased = await client.post(f"{place}/erase", data={"prove": "on"}, headers=HTMX)
        receipt, text = receipt_of(erased.text)
        assert receipt.result == "gone" and receipt.user == "ana" and receipt.act == "erase"
        assert receipt.database == f"{tmp_path}/memory.db"
        assert "oroastro" not in erased.text + text
        assert receipt.words.hash("Zoroastro") in receipt.words.hashes
        assert texts("pt", "proof")["gone"] in erased.text and ".langgraph_api" in "".join(receipt.says)
        assert words["proof.receipt"] in erased.text
        assert not (await client.get("/api/memories")).json()
        assert not list(tmp_path.glob("proof-*")), "the server keeps no receipt"


@pytest.mark.spec("BY-14")
async def test_forgetting_everything_on_the_page_is_proved(tmp_path: Path) -> None:
    async with web(tmp_path) as client:
        await client.post("/api/chats/c/messages", json={"message": "Meu nome é Zoroastro"})
        gone = await client.post("/account/forget", data={"confirm": "ana", "prove": "on"})
        receipt, text = receipt_of(gone.text)
        assert receipt.result == "gone" and receipt.act == "forget-user"
        assert "oroastro" not in gone.text + text
        assert gone.text.count(texts("en", "erasure")["out_of_reach"][:40]) == 1
        plain = await client.post("/account/forget", data={"confirm": "ana"})
        assert "data:application" not in plain.text


async def test_a_receipt_is_its_own_users_and_names_no_folder_of_the_server(tmp_path: Path) -> None:
    async with web(tmp_path, auth=auth(), user="local") as client:
        ana, bob = ({**HTMX, "x-api-key": KEYS[name]} for name in ("ana", "bob"))
        for chat, who in (("a", ana), ("b", bob)):
            said = {"message": "Meu nome é Zoroastro"}
            await client.post(f"/api/chats/{chat}/messages", json=said, headers=who)
        (one,) = (await client.get("/api/memories", headers=ana)).json()
        place = f"/memories/{one['id']}/erase"
        refused = await client.post(place, data={"prove": "on"}, headers=bob)
        assert refused.headers["hx-retarget"] == "#toast" and "data:application" not in refused.text
        erased = await client.post(place, data={"prove": "on"}, headers=ana)
        receipt, text = receipt_of(erased.text)
        assert receipt.result == "gone" and receipt.user == "ana", erased.text
        assert receipt.database == "memory.db" and str(tmp_path) not in erased.text + text
        assert len((await client.get("/api/memories", headers=bob)).json()) == 1
