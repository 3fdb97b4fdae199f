"""Files over HTTP: taken in, found, given back as a download, refused in one line, each user's own."""

from pathlib import Path

import pytest

from support.attached import docx, png
from support.web import web

FILES = "/api/memories/files"


@pytest.mark.spec("LM-15")
async def test_a_file_goes_in_and_comes_out(tmp_path: Path) -> None:
    data = docx("O fiador chama-se Anselmo.")
    async with web(tmp_path) as client:
        sent = {"file": ("contrato nº 1.docx", data, "application/octet-stream")}
        kept = (await client.post(FILES, files=sent, data={"caption": "meu contrato"})).json()
        assert (kept["type"], kept["content"]["caption"]) == ("document", "meu contrato")
        (hit,) = (await client.get("/api/memories/search?query=fiador")).json()
        assert hit["memory"]["id"] == kept["id"] and "Anselmo" in hit["matched"]
        assert hit["memory"]["bindings"] == []
        (listed,) = (await client.get("/api/memories")).json()
        assert (
            listed["bindings"] == [] and (await client.get(f"/api/memories/{kept['id']}")).json()["bindings"]
        )
        back = await client.get(f"/api/memories/{kept['id']}/file")
        assert back.content == data
        assert (
            back.headers["content-disposition"] == "attachment; filename*=UTF-8''contrato%20n%C2%BA%201.docx"
        )
        assert back.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in back.headers["content-security-policy"]


@pytest.mark.spec("LM-15", "BY-5")
async def test_hostile_uploads_and_other_peoples_files_are_refused(tmp_path: Path) -> None:
    async with web(tmp_path, limits={"file_bytes": 2_000}) as client:
        refused = [
            (("../a.txt", b"x", "text/plain"), "file_name"),
            (("a.png", png(), "text/html"), "file_mismatch"),
            (("a.svg", b"<svg/>", "image/svg+xml"), "file_type"),
            (("a.txt", b"x" * 2_001, "text/plain"), "file_too_large"),
        ]
        for file, code in refused:
            answer = await client.post(FILES, files={"file": file})
            assert (answer.status_code, answer.json()["code"]) == (422, code)
        assert (await client.post(FILES)).status_code == 422
        kept = (await client.post(FILES, files={"file": ("a.png", png(), "image/png")})).json()
        text = (await client.post("/api/memories", json={"content": "Mora em Natal"})).json()
        assert (await client.get(f"/api/memories/{text['record']['id']}/file")).json()["code"] == "file_none"
    async with web(tmp_path, user="bia") as client:
        assert (await client.get(f"/api/memories/{kept['id']}/file")).status_code == 404
