"""Relative dates are resolved against the message's own time; amounts are kept and normalised."""

from datetime import datetime
from typing import Literal

import pytest

from thoughtcycle.language.parse.dates import amounts_in, annotate, dates_in, number_value

SATURDAY = datetime(2026, 11, 21, 10, 0)
Language = Literal["pt", "en"]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("pt", "consulta amanhã", "consulta amanhã (2026-11-22)"),
        ("pt", "prova depois de amanhã às 9", "prova depois de amanhã (2026-11-23) às 9"),
        ("pt", "fui ontem", "fui ontem (2026-11-20)"),
        ("pt", "na sexta", "na sexta (2026-11-27)"),
        ("pt", "segunda-feira", "segunda-feira (2026-11-23)"),
        ("pt", "sexta passada", "sexta passada (2026-11-20)"),
        ("pt", "sábado", "sábado (2026-11-28)"),
        ("pt", "semana que vem", "semana que vem (semana de 2026-11-23)"),
        ("pt", "mês que vem", "mês que vem (2026-12)"),
        ("pt", "ano passado", "ano passado (2025)"),
        ("pt", "daqui a 3 dias", "daqui a 3 dias (2026-11-24)"),
        ("pt", "há duas semanas", "há duas semanas (semana de 2026-11-02)"),
        ("pt", "dois anos atrás", "dois anos atrás (2024)"),
        ("pt", "até junho", "até junho"),
        ("pt", "toda segunda", "toda segunda"),
        ("pt", "todo domingo", "todo domingo"),
        ("pt", "segunda vez", "segunda vez"),
        ("pt", "hoje em dia", "hoje em dia"),
        ("pt", "faz 3 anos em maio", "faz 3 anos em maio"),
        ("pt", "amanhã (2026-11-22)", "amanhã (2026-11-22)"),
        ("en", "appointment tomorrow", "appointment tomorrow (2026-11-22)"),
        ("en", "the day after tomorrow at 9", "the day after tomorrow (2026-11-23) at 9"),
        ("en", "on Friday", "on Friday (2026-11-27)"),
        ("en", "next Monday", "next Monday (2026-11-23)"),
        ("en", "last Friday", "last Friday (2026-11-20)"),
        ("en", "last week", "last week (week of 2026-11-09)"),
        ("en", "next month", "next month (2026-12)"),
        ("en", "in 3 days", "in 3 days (2026-11-24)"),
        ("en", "two years ago", "two years ago (2024)"),
        ("en", "every Monday", "every Monday"),
        ("en", "on Mondays", "on Mondays"),
        ("en", "by June", "by June"),
    ],
)
@pytest.mark.spec("BY-11")
def test_relative_dates(language: Language, text: str, expected: str) -> None:
    assert annotate(text, language, SATURDAY) == expected


def test_the_end_of_a_year_and_of_a_month() -> None:
    december = datetime(2026, 12, 31, 23, 0)
    assert annotate("mês que vem", "pt", december) == "mês que vem (2027-01)"
    assert annotate("amanhã", "pt", december) == "amanhã (2027-01-01)"
    assert annotate("last month", "en", datetime(2027, 1, 5)) == "last month (2026-12)"


@pytest.mark.parametrize(
    ("language", "text", "values"),
    [
        ("pt", "até dezembro", ["2026-12"]),
        ("pt", "até junho", ["2027-06"]),
        ("pt", "3 de maio", ["2027-05-03"]),
        ("pt", "3 de maio de 1990", ["1990-05-03"]),
        ("pt", "20/12", ["2026-12-20"]),
        ("pt", "20/12/26", ["2026-12-20"]),
        ("pt", "dia 5", ["2026-12-05"]),
        ("pt", "31/02", []),
        ("pt", "às 15h", [""]),
        ("en", "May 3rd", ["2027-05-03"]),
        ("en", "12/20/2026", ["2026-12-20"]),
        ("en", "the 3rd of May", ["2027-05-03"]),
        ("en", "by June", ["2027-06"]),
    ],
)
@pytest.mark.spec("CM-3", "BY-11")
def test_calendar_dates(language: Language, text: str, values: list[str]) -> None:
    assert [mention.value for mention in dates_in(text, language, SATURDAY)] == values


@pytest.mark.parametrize(
    ("language", "text", "value", "currency"),
    [
        ("pt", "R$ 5.000", 5000, "BRL"),
        ("pt", "R$ 5.000,50", 5000.5, "BRL"),
        ("pt", "R$5000", 5000, "BRL"),
        ("pt", "R$ 12,5 mil", 12500, "BRL"),
        ("pt", "4 mil reais", 4000, "BRL"),
        ("pt", "300 reais", 300, "BRL"),
        ("pt", "US$ 1.000", 1000, "USD"),
        ("pt", "2 mil", 2000, None),
        ("en", "$5,000", 5000, "USD"),
        ("en", "$5,000.50", 5000.5, "USD"),
        ("en", "$4k", 4000, "USD"),
        ("en", "300 dollars", 300, "USD"),
        ("en", "€1.5 million", 1500000, "EUR"),
    ],
)
@pytest.mark.spec("CM-3")
def test_amounts(language: Language, text: str, value: float, currency: str | None) -> None:
    (amount,) = amounts_in(f"foi {text}.", language)
    assert (amount.words, amount.value, amount.currency) == (text, value, currency)


@pytest.mark.parametrize("language", ["pt", "en"])
@pytest.mark.parametrize(
    ("number", "value"),
    [
        ("20.000,00", 20000.0),
        ("20,000.00", 20000.0),
        ("1.234.567,89", 1234567.89),
        ("1,234,567.89", 1234567.89),
        ("1.234,5", 1234.5),
        ("12.50", 12.5),
        ("12,50", 12.5),
        ("5.000", 5000.0),
        ("5,000", 5000.0),
        ("7.", 7.0),
        (",5", 0.5),
        ("42", 42.0),
    ],
)
def test_numbers_are_read_as_either_language_writes_them(
    language: Language, number: str, value: float
) -> None:
    assert number_value(number, language) == value
    assert all(one.value >= 0 for one in amounts_in(f"R$ {number} e ${number}", language))


def test_numbers_that_are_no_amounts() -> None:
    assert amounts_in("tenho 34 anos e moro no 12", "pt") == ()
