"""The program that looks for words finds them in every form, in files, SQLite and MongoDB, and shares no code."""

import ast
import base64
import gzip
import json
import pickle
import random
import sqlite3
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import ormsgpack
import pytest
from pymongo import MongoClient

from support.survivors import PROGRAM, search, survivors

TEXT = "ontem: Olá, Maringá é longe — disse o joão"
FORMS = {
    "utf-8": TEXT.encode(),
    "upper case": TEXT.upper().encode(),
    "without accents": b"ontem: Ola, Maringa e longe",
    "combining marks": "Maringa\u0301".encode(),
    "latin-1 beside": "é".encode("latin-1") + TEXT.encode(),
    "utf-16-le": TEXT.encode("utf-16-le"),
    "utf-16-be, odd": b"x" + TEXT.encode("utf-16-be"),
    "json": json.dumps({"text": TEXT}).encode(),
    "json in json": json.dumps(json.dumps({"text": TEXT})).encode(),
    "base64": base64.b64encode(TEXT.encode()),
    "base64, urlsafe, behind letters": b"abc" + base64.urlsafe_b64encode(TEXT.encode()),
    "base64 in lines": base64.encodebytes(TEXT.encode() * 9),
    "zlib": b"....." + zlib.compress(TEXT.encode()),
    "zlib, fast, cut off": zlib.compress((TEXT + str(list(range(900)))).encode(), 1)[:-30],
    "gzip": gzip.compress(TEXT.encode()),
    "zlib in base64": base64.b64encode(zlib.compress(json.dumps(TEXT).encode())),
    "base64 in zlib": zlib.compress(base64.b64encode(TEXT.encode())),
    "pickle": pickle.dumps({"text": TEXT}),
    "messagepack": ormsgpack.packb({"text": TEXT}),
    "soft hyphen": "Ma\u00adrin\u200bgá".encode(),
    "hyphens and underscores": b"_ma-rin_ga_",
    "in a key": b"cidade_Maring\xc3\xa1_nova",
}


def noise(size: int) -> bytes:
    return random.Random(7).randbytes(size)


@pytest.mark.spec("BY-14")
def test_a_word_is_found_in_every_form_and_nothing_else(tmp_path: Path) -> None:
    for form, data in FORMS.items():
        (tmp_path / form).write_bytes(noise(6_000) + data + noise(5_000))
    told = search(["maringá", "Jundiaí"], tmp_path)
    assert {Path(hit["path"]).name for hit in told["hits"] if hit["word"] == 0} == FORMS.keys()
    assert {hit["word"] for hit in told["hits"]} == {0}
    assert {Path(file["path"]).name: file["bytes"] for file in told["files"]} == {
        form: 11_000 + len(data) for form, data in FORMS.items()
    }


@pytest.mark.spec("BY-14")
def test_files_and_places_are_told_and_no_word(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_bytes(noise(262_140) + "Maringá".encode() + noise(9) + b"caf\xc3\xa9 4711#")
    told = search(["maringa", "Café", "4711"], path)
    assert told["hits"] == [
        {"word": 0, "form": "utf-8", "path": str(path), "offset": 262_140},
        {"word": 1, "form": "utf-8", "path": str(path), "offset": 262_140 + 17},
        {"word": 2, "form": "utf-8", "path": str(path), "offset": 262_140 + 23},
    ]
    assert "aring" not in json.dumps(told) and "4711" not in json.dumps(told)


def test_zip_files_are_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.docx", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", TEXT * 20)
    assert {hit["form"] for hit in search(["Maringá"], tmp_path)["hits"]} == {"zip"}


@pytest.mark.parametrize(
    ("word", "text", "there"),
    [
        ("café", "id 0cafe1", False),
        ("café", "o Café.", True),
        ("cafe", "caf\u00ade", True),
        ("4711", "a-4711-b", True),
        ("4711", "47119", False),
        ("Ana", "semana", False),
        ("Ana", "com_Ana_ontem", True),
        ("Zaragoza", "Zaragozanos", True),
        ("Moro em Zaragoza.", "moro  em\nzaragoza, sim", True),
        ("carro quintifruz", "carro_quintifruz", True),
        ("🍕", "quero 🍕!", True),
    ],
)
def test_short_words_count_as_whole_words(tmp_path: Path, word: str, text: str, there: bool) -> None:
    (tmp_path / "kept").write_text(text)
    assert bool(search([word], tmp_path)["hits"]) == there


def test_a_piece_of_a_long_word_counts(tmp_path: Path) -> None:
    long = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=6_000))
    (tmp_path / "kept").write_text("..." + long[700:1_700] + "...")
    assert search([long], tmp_path)["hits"]
    assert not search([long[::-1]], tmp_path)["hits"]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    connection = sqlite3.connect(path)
    connection.executescript("""
        PRAGMA journal_mode = wal;
        CREATE TABLE memories (id TEXT PRIMARY KEY, space TEXT, status TEXT, document TEXT);
        CREATE TABLE "odd ""name" (memory TEXT REFERENCES memories (id), data BLOB);
        CREATE TABLE checkpoints (thread_id TEXT, owner TEXT, checkpoint BLOB);
        CREATE TABLE writes (thread_id TEXT, value BLOB);
    """)
    for user in ("ana", "bia"):
        connection.execute(
            "INSERT INTO memories VALUES (?, ?, 'hidden', ?)", (f"{user}1", user, f"{user} em Maringá")
        )
        connection.execute(
            'INSERT INTO "odd ""name" VALUES (?, ?)', (f"{user}1", zlib.compress(b"Maringa " + user.encode()))
        )
        connection.execute("INSERT INTO checkpoints VALUES (?, ?, ?)", (f"t-{user}", user, b"x"))
        connection.execute(
            "INSERT INTO writes VALUES (?, ?)", (f"t-{user}", ormsgpack.packb(f"Maringá {user}"))
        )
    connection.execute("INSERT INTO writes VALUES ('nobody knows', 'maringa')")
    connection.commit()
    connection.close()
    return path


@pytest.mark.spec("BY-14")
def test_every_value_of_every_table_is_looked_at_and_whose_it_is(database: Path) -> None:
    before = sorted(database.parent.iterdir())
    told = search(["Maringá"], database, owners=["ana"])
    found = {
        (hit["table"], hit["column"], hit["whose"]): hit["count"] for hit in told["hits"] if "table" in hit
    }
    places = [("memories", "document"), ('odd "name', "data"), ("writes", "value")]
    assert found == {(*place, whose): 1 for place in places for whose in ("own", "others")} | {
        ("writes", "value", "own"): 2
    }
    assert sorted(database.parent.iterdir()) == before
    assert [hit["form"] for hit in told["hits"] if "offset" in hit] == ["utf-8", "zlib"]


def test_rows_of_what_stays_are_told_apart(database: Path) -> None:
    told = search(["Maringá"], database, owners=["ana"], kept=["ana1"])
    kept = {hit["table"] for hit in told["hits"] if hit.get("whose") == "kept"}
    assert kept == {"memories", 'odd "name'}


def test_a_log_beside_the_database_is_read_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    connection = sqlite3.connect(path)
    connection.executescript("PRAGMA journal_mode = wal; CREATE TABLE said (text TEXT);")
    connection.execute("INSERT INTO said VALUES ('Maringá')")
    connection.commit()
    told = search(["Maringá"], path)
    assert {Path(hit["path"]).name for hit in told["hits"] if "offset" in hit} == {"memory.db-wal"}
    assert [hit["count"] for hit in told["hits"] if "table" in hit] == [1]
    connection.close()


def test_what_lies_in_two_pages_is_found_by_tables_and_what_was_deleted_by_bytes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    connection = sqlite3.connect(path)
    connection.executescript("PRAGMA secure_delete = off; CREATE TABLE said (text TEXT);")
    data = zlib.compress(json.dumps([noise(20_000).hex(), "Maringá", noise(9_000).hex()]).encode(), 0)
    connection.execute("INSERT INTO said VALUES (?)", (data,))
    connection.execute("INSERT INTO said VALUES ('Jundiaí')")
    connection.execute("DELETE FROM said WHERE text = 'Jundiaí'")
    connection.commit()
    connection.close()
    hits = search(["Maringá", "Jundiaí"], path)["hits"]
    assert {hit["word"] for hit in hits if "table" in hit} == {0}
    assert 1 in {hit["word"] for hit in hits if "offset" in hit}


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"Maring\xc3\xa1" * 900)
    told = search(["Maringá"], tmp_path / "broken.db", tmp_path / "missing")
    assert [Path(one["path"]).name for one in told["failed"]] == ["broken.db", "missing"]
    assert [hit["offset"] for hit in told["hits"]] == [16]


@pytest.mark.spec("BY-14")
def test_a_mongodb_is_searched_through_the_wire(mongodb_url: str) -> None:
    with MongoClient(mongodb_url) as client:
        db = client.get_default_database()
        db.memories.insert_one({"_id": "1", "memoriesId": "ana", "content": {"json": json.dumps("Maringá")}})
        db.memories.insert_one({"_id": "2", "memoriesId": "bia", "content": "Maringá"})
        db.memories.insert_one({"_id": "3", "memoriesId": "ana", "tags": {"ma-ringa": [1]}})
        db.checkpoints.insert_one({"_id": "4", "thread_id": "t", "owner": "bia"})
        db.checkpoint_writes.insert_one({"_id": "5", "thread_id": "t", "value": b"maringa"})
        db.checkpoint_writes.insert_one({"_id": "6", "thread_id": "u", "value": zlib.compress(b"maringa")})
    told = search(["Maringá"], mongodb=mongodb_url, owners=["ana"], kept=["3"])
    assert {(hit["table"], hit["column"], hit["whose"], hit["form"]) for hit in told["hits"]} == {
        ("checkpoint_writes", "value", "own", "zlib"),
        ("checkpoint_writes", "value", "others", "utf-8"),
        ("memories", "content", "own", "json"),
        ("memories", "tags", "kept", "utf-8"),
    }
    assert len(survivors(mongodb_url, (), "ana", ["Maringá"])) == 3
    assert survivors(mongodb_url, (), "ana", ["Jundiaí"]) == []


@pytest.mark.spec("BY-14")
def test_it_shares_no_code(tmp_path: Path) -> None:
    tree = ast.parse(PROGRAM.read_text())
    names = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names | {"pymongo"}
    (tmp_path / "kept").write_text(TEXT)
    asked = json.dumps({"words": ["Maringá"], "files": [str(tmp_path / "kept")]})
    bare = [sys.executable, "-I", "-S", str(PROGRAM)]
    done = subprocess.run(bare, input=asked, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert len(json.loads(done.stdout)["hits"]) == 1
