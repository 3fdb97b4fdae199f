"""Hostile and odd messages: linear time, no crash, and the way back from folded text to the words typed."""

import time
from datetime import datetime
from typing import Literal

import pytest

from thoughtcycle.language.intents.understanding import understand
from thoughtcycle.language.parse import message_contexts
from thoughtcycle.language.parse.clauses import parse
from thoughtcycle.language.parse.folding import LIMIT, fold, fold_word

NOW = datetime(2026, 11, 21, 10, 0)
SECONDS = 9.0
"""A quadratic pattern takes minutes on these; a linear one a tenth of a second."""
SEEDS = [
    "a", "eu ", "a. ", "gosto de pão, ", '"', "' a '", ",", "não ", "i am ", "😀", "se eu ", "\n", "1.", " ", "e\u0301\u0302",
    "minha filha ", "minha consulta ", "meu nome é Pedro. ", "muito ", "what do you know about ", "esqueça ", "por favor, ",
    "ele disse que ", "kk ", "boa noite ", "my favorite ", "estou muito muito ", "a_b ", "daqui a 3 ", "R$ 1.", "e ", "não gosto mais ",
    "? ", "lembra que ", "(", ": ", "o que ", "você é ", "segunda ", "3/", "\x00", "ﷺ", "I'm I'm ", "who is my ", "tell me ", "and ",
    "my wife and she ", "minha mãe, a Célia, ", "x, i mean ", "quer dizer, ", "a.b@", "www.", "(11) 9", "ok ", "que legal ",
    "a\u00ad", "sorry ", "but not ", "i am fine ", "sou a Ana, 28, ", "forget that ", "eu agora ", "is and has ",
]  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("language", ["pt", "en"])
def test_a_long_message_takes_linear_time(seed: str, language: Literal["pt", "en"]) -> None:
    message = seed * (100_000 // len(seed))
    began = time.thread_time()
    understand(message, language=language, now=NOW)
    assert time.thread_time() - began < SECONDS


@pytest.mark.parametrize(
    "rubbish",
    [
        "".join(chr(code % 256) for code in range(20_000)),
        "".join(chr(code) for code in range(0x2000, 0x3000)),
        "\ud800\udfff",
        "İstanbul ß ﬁ \u202e abc",
        "\u0301\u0301",
        "{x} {{y}} \\1 (?P<x>",
    ],
)
def test_rubbish_is_survived(rubbish: str) -> None:
    assert understand(rubbish, language="pt", now=NOW).facts == ()
    assert len(message_contexts(rubbish, "pt")) <= 3


def test_only_the_beginning_is_read() -> None:
    far = "x " * LIMIT + "meu nome é Pedro"
    assert understand(far, language="pt", now=NOW).facts == ()


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Não É", "nao eh"),
        ("vc  tá\tbem", "voce esta bem"),
        ("muuuuito", "muito"),
        ("cafe\u0301", "cafe"),
        ("“oi”", '"oi"'),
    ],
)
def test_folding(text: str, folded: str) -> None:
    assert fold(text, "pt").text == folded


def test_what_is_not_seen_parts_no_word() -> None:
    told = fold("Adoro o Zo\u00adro\u200bastro\u00ad.", "pt")
    assert told.text.rstrip(" .") == "adoro o zoroastro"
    assert told.original(8, 17) == "Zo\u00adro\u200bastro"
    assert fold_word("Zo\u00adroástro") == "zoroastro"


@pytest.mark.parametrize("text", ["Não É vc?", "muuuito BOM", "cafe\u0301 é bom 😀 sim", "I'm  Zoé’s"])
def test_folded_text_leads_back_to_the_source(text: str) -> None:
    folded = fold(text, "pt")
    assert len(folded.text) == len(folded.starts) == len(folded.ends)
    assert folded.original(0, len(folded.text)).strip() == text.strip()
    for start, end in zip(folded.starts, folded.ends, strict=True):
        assert 0 <= start < end <= len(text)


@pytest.mark.parametrize(
    ("message", "moods"),
    [
        ("Moro em Lisboa.", ["statement"]),
        ("Moro em Lisboa?", ["question"]),
        ("sou vegano, o que posso comer?", ["statement", "question"]),
        ("se eu fosse rico, moro em Paris", ["hypothetical", "hypothetical"]),
        ("talvez eu me mude", ["hypothetical"]),
        ("moro aqui, mas talvez eu mude", ["statement", "hypothetical"]),
        ("meu chefe disse: eu moro longe", ["statement", "reported"]),
    ],
)
def test_moods_of_clauses(message: str, moods: list[str]) -> None:
    (sentence,) = parse(message, "pt").sentences
    assert [clause.mood for clause in sentence.clauses if clause.start < clause.end] == moods


@pytest.mark.parametrize(
    ("message", "count"),
    [
        ("Custa R$ 5.000. Caro!", 2),
        ("O dr. Silva ligou", 1),
        ("um\ndois", 2),
        ("são 10.30", 1),
        ("meu e-mail é ana.maria@x.com.br e pronto", 1),
        ("veja https://x.com/a?b=c. Gostou?", 2),
        ("sou John F. Kennedy", 1),
        ("oi... tudo bem?", 2),
    ],
)
def test_sentences(message: str, count: int) -> None:
    assert len(parse(message, "pt").sentences) == count
