"""A year of somebody's talk, always the same: goals, limits, decisions, moods, corrections, code, small talk."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

BEGIN = datetime(2026, 1, 5, 8, tzinfo=UTC)
MONTHS = 12
MONTH = timedelta(days=30)


@dataclass(frozen=True)
class Line:
    """Something said on a day of a month."""

    chat: str
    channel: str
    language: str
    text: str
    critical: str = ""
    """What must be told verbatim for ever, where the line declares something."""
    numbers: tuple[str, ...] = ()
    """Its amounts and dates, normalised."""


IN_PERSON = ("casa", "work")
"""Chats that go through the thought cycle; the others took place elsewhere and are brought in."""
CHATS = (
    ("casa", "whatsapp", "pt"),
    ("trabalho", "cli", "pt"),
    ("money", "telegram", "en"),
    ("work", "web", "en"),
)
PT_MONTHS = [
    "janeiro",
    "fevereiro",
    "março",
    "abril",
    "maio",
    "junho",
    "julho",
    "agosto",
    "setembro",
    "outubro",
    "novembro",
    "dezembro",
]
EN_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
THINGS_PT = [
    "delivery",
    "roupas",
    "livros",
    "jogos",
    "cinema",
    "bares",
    "viagens",
    "presentes",
    "cursos",
    "ferramentas",
    "plantas",
    "cosméticos",
]
THINGS_EN = [
    "takeout",
    "clothes",
    "books",
    "games",
    "movies",
    "bars",
    "trips",
    "gifts",
    "courses",
    "tools",
    "plants",
    "makeup",
]
TASTES_PT = (
    "chá de hortelã",
    "reuniões curtas",
    "trens noturnos",
    "cadernos sem linha",
    "relatórios em PDF",
    "filmes antigos",
    "canetas azuis",
    "cafés silenciosos",
    "mapas de papel",
    "música instrumental",
    "quartos claros",
    "móveis de madeira",
)
TASTES_EN = (
    "mint tea",
    "short meetings",
    "night trains",
    "plain notebooks",
    "PDF reports",
    "old movies",
    "blue pens",
    "quiet cafes",
    "paper maps",
    "instrumental music",
    "bright rooms",
    "wooden furniture",
)
CITIES = ("Recife", "Natal", "Olinda")
SMALL_PT = ("bom dia!", "kkkk", "obrigado", "tudo bem?", "ok", "até amanhã")
SMALL_EN = ("good morning!", "lol", "thanks", "how are you?", "ok", "see you tomorrow")


def month(number: int, extra: int = 0) -> Iterator[Line]:
    """What is said in month `number` (from 0); `extra` more remarks with an amount in each chat."""
    for chat, channel, language in CHATS:
        pt = language == "pt"
        for text, critical, numbers in (
            *(_home(chat, number) if chat in ("casa", "money") else _office(chat, number)),
            *_moods(pt, number),
            *_small(pt, number),
            *(_remark(chat, pt, number, each) for each in range(1 + extra)),
        ):
            yield Line(chat, channel, language, text, critical, numbers)


def _home(chat: str, number: int) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    save, cap = 1_000 + 350 * number, 110 + 10 * number
    until = (number + 5) % MONTHS
    if chat == "casa":
        goal = f"Quero economizar R$ {save // 1000}.{save % 1000:03d} até {PT_MONTHS[until]}"
        limit = f"Não quero gastar mais de R$ {cap} por mês com {THINGS_PT[number]}"
        taste = f"Prefiro {TASTES_PT[number]}"
        if number % 4 == 0:
            yield f"{'Moro' if number == 0 else 'Agora moro'} em {CITIES[number // 4]}", "", ()
    else:
        goal = f"I want to save ${save:,} by {EN_MONTHS[until]}"
        limit = f"I don't want to spend more than ${cap} a month on {THINGS_EN[number]}"
        taste = f"I prefer {TASTES_EN[number]}"
    yield goal, goal, (str(save),)
    yield limit, limit, (str(cap),)
    yield taste, taste, ()


def _office(chat: str, number: int) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    price, day = 20_000 + 137 * number, f"{2027 + number // 12}-{number % 12 + 1:02d}-1{number % 10}"
    if chat == "trabalho":
        thing = f"o servidor número {number + 1}"
        date = f"1{number % 10}/{number % 12 + 1:02d}/2027"
        decision = f"Decidi que vou vender {thing} em {date} por R$ {price // 1000}.{price % 1000:03d},00"
        code = f"Guarde este código:\n```python\ndef taxa_{number}(x):\n    return x * {number + 2}.5\n```"
    else:
        thing = f"server number {number + 1}"
        date = f"{EN_MONTHS[number % 12]} 1{number % 10}, 2027"
        decision = f"I decided to sell {thing} on {date} for ${price:,}.00"
        code = f"Keep this code:\n```python\ndef rate_{number}(x):\n    return x * {number + 2}.5\n```"
    yield decision, decision, (str(price), day)
    yield code, "", ()


def _moods(pt: bool, number: int) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    if number in (1, 2, 3):
        yield ("Estou ansioso com o prazo" if pt else "I am anxious about the deadline"), "", ()


def _small(pt: bool, number: int) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    yield (SMALL_PT if pt else SMALL_EN)[number % 6], "", ()


def _remark(chat: str, pt: bool, number: int, each: int) -> tuple[str, str, tuple[str, ...]]:
    """Something with an amount that nothing else has, and many words around it."""
    place = [known for known, _, _ in CHATS].index(chat)
    units, cents = 3_000 + 1_000 * place + 12 * each + number, 11 + 2 * number
    amount = f"{units}.{cents}"
    if pt:
        told = (
            f"Hoje paguei R$ {units // 1000}.{units % 1000:03d},{cents} ao pedreiro da reforma número {each}"
        )
        return f"{told}, depois de muita conversa sobre o prazo e a qualidade do trabalho dele", "", (amount,)
    told = f"Today I paid ${units:,}.{cents} to the builder of site number {each}"
    return f"{told}, after a lot of talk about the schedule and the quality of the work done", "", (amount,)
