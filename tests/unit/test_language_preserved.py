"""Numbers, dates, decisions and names of a text are found, as said and normalised (CM-3, BY-11)."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thoughtcycle.language.facts.critical import preserved_in
from thoughtcycle.language.parse.names import names_in
from thoughtcycle.language.parse.quantities import quantities_in
from thoughtcycle.prompts.loader import Language

SATURDAY = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


def said(text: str, language: Language) -> list[tuple[str, str]]:
    return [(one.preserved.said, one.preserved.normalised) for one in quantities_in(text, language, SATURDAY)]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("pt", "R$ 5.000 até junho", [("R$ 5.000", "5000"), ("junho", "2027-06")]),
        ("pt", "uns 5 mil por mês", [("5 mil", "5000")]),
        ("pt", "12,5% ou 3,14", [("12,5%", "12.5"), ("3,14", "3.14")]),
        ("pt", "1.234.567,89", [("1.234.567,89", "1234567.89")]),
        ("pt", "cinco mil reais", [("cinco mil", "5000")]),
        ("pt", "dois milhões e trezentos mil", [("dois milhões e trezentos mil", "2300000")]),
        ("pt", "vinte e cinco por cento", [("vinte e cinco por cento", "25")]),
        ("pt", "em dez vezes", [("dez", "10")]),
        ("pt", "um dia destes, uma coisa", []),
        ("pt", "às 15h30 do dia 5", [("15h30", "15:30"), ("dia 5", "2026-12-05")]),
        ("pt", "o Marco chega em março", [("março", "2027-03")]),
        ("pt", "tel +55 11 98888-7777", [("+55 11 98888-7777", "+55 11 98888-7777")]),
        ("pt", "CPF 123.456.789-00", [("123.456.789-00", "123.456.789-00")]),
        ("pt", "pedido ABC-1234, versão 2.0.1", [("ABC-1234", "ABC-1234"), ("2.0.1", "2.0.1")]),
        ("pt", "conta 00012345", [("00012345", "00012345")]),
        ("pt", "90kg, 1º lugar e -5", [("90kg", "90"), ("1º", "1"), ("-5", "-5")]),
        ("pt", "30/02/2026", [("30/02/2026", "30/02/2026")]),
        ("pt", "amanhã e há 3 semanas", [("amanhã", "2026-11-22"), ("há 3 semanas", "2026-W44")]),
        ("en", "$5,000 by June", [("$5,000", "5000"), ("June", "2027-06")]),
        ("en", "I may go in May", [("May", "2027-05")]),
        ("en", "ten percent of five thousand", [("ten percent", "10"), ("five thousand", "5000")]),
        ("en", "two hundred and fifty people", [("two hundred and fifty", "250")]),
        ("en", "one thing", []),
        ("en", "3:30 pm", [("3:30 pm", "15:30")]),
        ("en", "1,234.56 and 12.5%", [("1,234.56", "1234.56"), ("12.5%", "12.5")]),
        ("en", "twenty-five bucks", [("twenty-five", "25")]),
    ],
)
@pytest.mark.spec("CM-3", "BY-11")
def test_as_said_and_normalised(language: Language, text: str, expected: list[tuple[str, str]]) -> None:
    assert said(text, language) == expected


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="0123456789.,-/%R$ abçE+:()\n", max_size=80), st.sampled_from(["pt", "en"]))
@pytest.mark.spec("CM-3")
def test_no_digit_is_left_out(text: str, language: Language) -> None:
    found = "".join(one for one, _ in said(text, language))
    assert sorted(re.findall(r"\d", found)) == sorted(re.findall(r"\d", text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A Maria Silva falou com o João na Nubank.", ("Maria Silva", "João", "Nubank")),
        ("Conversei no Banco do Brasil", ("Banco do Brasil",)),
        ("O carro quebrou. Fui a pé.", ()),
        ("I met Anna Smith in Leeds on Friday", ("Anna Smith", "Leeds")),
        ("VOU COMPRAR TUDO NO MERCADO HOJE MESMO", ()),
        ("", ()),
    ],
)
def test_names(text: str, expected: tuple[str, ...]) -> None:
    assert names_in(text) == expected


@pytest.mark.spec("CM-3")
def test_all_of_a_text() -> None:
    found = preserved_in(
        "Decidi aceitar a proposta da Nubank: R$ 9.500 a partir de 10/01/2027. Contato: rh@nu.example.com",
        language="pt",
        now=SATURDAY,
    )
    assert [one.normalised for one in found.numerical_values] == ["9500"]
    assert [one.normalised for one in found.dates] == ["2027-01-10"]
    assert found.decisions == ("Decidi aceitar a proposta da Nubank: R$ 9.500 a partir de 10/01/2027",)
    assert set(found.essential_context) == {"Nubank", "rh@nu.example.com"}


@pytest.mark.parametrize("piece", ["1.1,", "a1;", "R$ ", "mil ", "vinte e ", "Aa ", '"a ', "1 "])
def test_long_junk_is_read_in_linear_time(piece: str) -> None:
    preserved_in(piece * 2_000, language="pt", now=SATURDAY)
