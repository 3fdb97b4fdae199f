"""Hashed-word embeddings, and the choice between the kinds of embeddings."""

import asyncio
import json
import subprocess
import sys
import time
from types import ModuleType

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from thoughtcycle.errors import InputRefused, ModelFailed
from thoughtcycle.extras import install_command
from thoughtcycle.mind import embeddings as module
from thoughtcycle.mind.embeddings import LexicalEmbeddings, NamedEmbeddings, build_embeddings
from thoughtcycle.mind.model_settings import ModelSettings
from thoughtcycle.prompts.loader import LANGUAGES


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def alike(one: str, other: str) -> float:
    rows = LexicalEmbeddings().embed_documents([one, other])
    return float(np.dot(*rows))


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("gosto de gatos", "meu gato se chama Mel", "reunião com o cliente amanhã"),
        ("preferências de comunicação", "preferencia de comunicacao", "prazo do projeto"),
        ("I like running", "she runs every day", "the database is slow"),
        ("a cidade onde moro", "moro na cidade de Recife", "a cor que eu prefiro"),
        ("contrato com a Acme", "Contratos da ACME", "contar uma história"),
    ],
)
def test_texts_that_share_words_are_nearer(text, near, far):
    assert alike(text, near) > alike(text, far) + 0.1


def test_rows_have_length_one_and_512_numbers():
    row = np.array(LexicalEmbeddings().embed_query("olá, mundo"))
    assert row.shape == (512,)
    assert np.isclose(np.linalg.norm(row), 1.0)


def test_a_text_without_words_is_zero():
    assert not any(LexicalEmbeddings().embed_query(" … "))


def test_accents_case_and_order_do_not_matter():
    assert np.isclose(alike("Reunião Amanhã", "amanha REUNIAO"), 1.0)


def test_the_same_in_every_process():
    code = "from thoughtcycle.mind.lexical import LexicalEmbeddings as L; print(L().embed_query('Olá, coração!'))"
    environment = {"PYTHONHASHSEED": "1"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(run.stdout) == LexicalEmbeddings().embed_query("Olá, coração!")


async def test_the_asynchronous_half_says_the_same():
    lexical = LexicalEmbeddings()
    texts = ["um", "dois", "longo " * 5_000]
    assert await lexical.aembed_documents(texts) == lexical.embed_documents(texts)
    assert await lexical.aembed_query("um") == lexical.embed_query("um")


def test_a_short_text_takes_less_than_a_third_of_a_millisecond():
    lexical = LexicalEmbeddings()
    texts = [f"reunião {number} com o cliente amanhã cedo" for number in range(100)]
    lexical.embed_documents(texts[:10])
    best = min(_seconds(lambda: lexical.embed_documents(texts)) for _ in range(20))
    assert best / len(texts) < 0.3e-3


def _seconds(run) -> float:
    start = time.thread_time()
    run()
    return time.thread_time() - start


@pytest.mark.spec("BY-3")
def test_what_the_settings_choose():
    assert isinstance(build_embeddings(ModelSettings()), LexicalEmbeddings)
    assert build_embeddings(ModelSettings(embedding={"model": "none"})) is None
    server = build_embeddings(
        ModelSettings(openai_base_url="http://ana:pass@host:8/v1", embedding={"model": "e"})
    )
    assert isinstance(server, NamedEmbeddings)
    assert server.name == "e@host:8"


def test_a_local_model_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(InputRefused) as refused:
        build_embeddings(ModelSettings(embedding={"model": "local:intfloat/multilingual-e5-small"}))
    for language in LANGUAGES:
        assert install_command("local") in refused.value.text(language)


async def test_a_local_model_is_loaded_on_first_use(monkeypatch):
    loaded = []

    def load(model_name: str, encode_kwargs: object) -> Embeddings:
        loaded.append(model_name)
        return DeterministicFakeEmbedding(size=3)

    package = ModuleType("langchain_huggingface")
    package.HuggingFaceEmbeddings = load
    monkeypatch.setitem(sys.modules, "langchain_huggingface", package)
    monkeypatch.setattr(module, "find_spec", lambda name: object())
    local = build_embeddings(ModelSettings(embedding={"model": "local:small"}))
    assert local is not None
    assert (local.name, loaded) == ("local:small", [])
    assert len(await local.aembed_query("a")) == len((await local.aembed_documents(["b"]))[0]) == 3
    assert loaded == ["small"]


async def test_any_embeddings_object_gets_a_name():
    injected = NamedEmbeddings.of(DeterministicFakeEmbedding(size=4), "mine")
    assert injected.name == "mine"
    assert injected.embed_query("a") == await injected.aembed_query("a")
    assert NamedEmbeddings.of(DeterministicFakeEmbedding(size=4)).name == "DeterministicFakeEmbedding"


async def test_no_texts_no_call():
    class Silent(Embeddings):
        def embed_documents(self, texts):
            raise AssertionError("called")

        embed_query = embed_documents

    assert await NamedEmbeddings.of(Silent()).aembed_documents([]) == []


async def test_embeddings_that_hang_are_given_up():
    class Slow(DeterministicFakeEmbedding):
        async def aembed_query(self, text: str) -> list[float]:
            await asyncio.Event().wait()
            return []

    slow = NamedEmbeddings.of(Slow(size=1))
    slow._endpoint = module.Endpoint("embedding", "slow", timeout=0.01)
    with pytest.raises(ModelFailed) as failed:
        await slow.aembed_query("a")
    assert failed.value.code == "model_timeout"


async def test_a_model_that_many_ask_at_once_is_built_once() -> None:
    built: list[Embeddings] = []

    def build() -> Embeddings:
        time.sleep(0.05)  # as loading a model does
        built.append(DeterministicFakeEmbedding(size=3))
        return built[-1]

    named = NamedEmbeddings("slow", build)
    await asyncio.gather(*(named.aembed_query("a") for _ in range(20)))
    assert len(built) == 1
