"""The exact facts that statements give: text, slot, kind, weight, search contexts and words."""

from datetime import datetime
from typing import Literal, get_args

import pytest

from thoughtcycle.language.facts import Fact
from thoughtcycle.language.facts.extraction import MemoryKind
from thoughtcycle.language.intents.understanding import understand
from thoughtcycle.language.parse import message_contexts, topic_bindings
from thoughtcycle.memory.model import Kind, MemoryDraft, Source

NOW = datetime(2026, 11, 21, 10, 0)
Language = Literal["pt", "en"]


def facts(message: str, language: Language = "pt") -> tuple[Fact, ...]:
    return understand(message, language=language, now=NOW).facts


@pytest.mark.parametrize(
    ("message", "key", "content"),
    [
        ("meu nome é ana clara", "name", "Nome: ana clara"),
        ("Meu nome é Zoé 😀", "name", "Nome: Zoé"),
        ('meu nome é "Zoé"', "name", "Nome: Zoé"),
        ("meu nome não é Pedro, é Paulo", "name", "Nome: Paulo"),
        ("Tenho 32 anos", "age", "Idade: 32 anos"),
        ("meu aniversário é 3 de maio", "birthday", "Aniversário: 3 de maio"),
        ("Moro em Lisboa desde 2015", "home", "Mora em Lisboa"),
        ("me mudei para Berlim", "home", "Mora em Berlim"),
        ("mudei pro Porto mês passado", "home", "Mora no Porto"),
        ("Trabalho como engenheira na Acme", "work", "Trabalha como engenheira na Acme"),
        ("mudei de emprego, agora trabalho na Nubank", "work", "Trabalha na Nubank"),
        ("Sou vegetariana", "diet", "Vegetariana"),
        ("não como carne", "diet", "Não come carne"),
        ("faço dieta low carb", "diet:low carb", "Dieta low carb"),
        ("sou alérgico a amendoim", "allergy:amendoim", "Alérgico a amendoim"),
        ("tenho uma irmã chamada Ana", "family:sister:ana", "Tem uma irmã chamada Ana"),
        ("meu irmão é vegetariano", "family:brother:diet", "Irmão é vegetariano"),
        (
            "minha filha Clara faz 3 anos em maio",
            "family:daughter:clara:birthday",
            "Filha Clara faz 3 anos em maio",
        ),
        ("tenho um cachorro chamado Rex", "pet:dog:rex", "Tem um cachorro chamado Rex"),
        (
            "tenho 2 filhos: Lucas de 7 e Bia de 4",
            "family:children",
            "Tem 2 filhos: Lucas de 7 e Bia de 4",
        ),
        (
            "tenho dois filhos, o Lucas, de 7 anos, e a Bia, de 4",
            "family:children",
            "Tem dois filhos: o Lucas, de 7 anos, e a Bia, de 4",
        ),
        ("tenho 2 filhos: um menino e uma menina", "family:children", "Tem 2 filhos: um menino e uma menina"),
        ("tenho três gatos: Tom, Mia e Zé", "pet:cat", "Tem três gatos: Tom, Mia e Zé"),
        (
            "o orçamento da viagem é 2 mil euros",
            "limit:orcamento viagem",
            "Orçamento da viagem: 2 mil euros",
        ),
        (
            "o aniversário da minha irmã é 5 de maio",
            "family:sister:birthday",
            "Aniversário de irmã: 5 de maio",
        ),
        ("a consulta mudou pra 21/12 às 9h", "date:consulta", "Consulta: 21/12 às 9h"),
        ("meu cachorro na verdade se chama Max", "pet:dog:max", "Cachorro: Max"),
        ("odeio coentro", "taste:coentro", "Odeia coentro"),
        ("gosto de coentros", "taste:coentro", "Gosta de coentros"),
        (
            "quero economizar R$ 5.000 até junho",
            "goal:economizar junho",
            "Quer economizar R$ 5.000 até junho",
        ),
        (
            "Quero juntar R$ 10.000 para uma viagem",
            "goal:juntar viagem",
            "Quer juntar R$ 10.000 para uma viagem",
        ),
        (
            "Me avise se gastar mais de R$ 500 em restaurantes",
            "limit:avise gastar restaurante",
            "Limite: Me avise se gastar mais de R$ 500 em restaurantes",
        ),
        (
            "Prefiro investir em renda fixa",
            "preference:investir renda fixa",
            "Prefere investir em renda fixa",
        ),
        (
            "Decidi cancelar a assinatura do streaming",
            "decision:cancelar assinatura streaming",
            "Decidiu cancelar a assinatura do streaming",
        ),
        ("quero vender meu carro", "goal:vender carro", "Quer vender seu carro"),
        (
            "estou ansioso hoje por causa da prova",
            "feeling:prova",
            "Ansioso hoje (2026-11-21) por causa da prova",
        ),
        ("hoje estou muito ansioso", "feeling:anxious", "Muito ansioso hoje (2026-11-21)"),
        ("tenho consulta amanhã", "date:consulta", "Consulta amanhã (2026-11-22)"),
        ("tenho consulta com o dentista dia 20", "date:consulta:dentista", "Consulta com o dentista dia 20"),
        ("ganho R$ 5.000 por mês", "money:salary", "Ganha R$ 5.000 por mês"),
        ("minha comida favorita é lasanha", "favorite:food", "Comida favorita: lasanha"),
        ("jogo futebol todo domingo", "hobby:futebol todo domingo", "Joga futebol todo domingo"),
        ("lembra que a chave fica no vaso", "note:chave fica vaso", "A chave fica no vaso"),
        ("anota aí: comprar leite amanhã", "note:comprar leite amanha", "Comprar leite amanhã (2026-11-22)"),
        ("My name is Pedro", "name", "Name: Pedro"),
        ("I'm a nurse at St. Mary's", "work", "Works as a nurse at St. Mary's"),
        ("I moved to Berlin", "home", "Lives in Berlin"),
        ("I'm allergic to peanuts", "allergy:peanut", "Allergic to peanuts"),
        ("my sister's name is Anna", "family:sister:anna", "Sister: Anna"),
        ("I have a dog named Rex", "pet:dog:rex", "Has a dog named Rex"),
        (
            "my daughter Clara turns 3 in May",
            "family:daughter:clara:birthday",
            "Daughter Clara turns 3 in May",
        ),
        ("I want to save $5,000 by June", "goal:save june", "Wants to save $5,000 by June"),
        ("I want to sell my car by June", "goal:sell car june", "Wants to sell their car by June"),
        ("never call me after 10pm", "preference:call after", "Request: never call me after 10pm"),
        (
            "let me know if I spend more than $500 on restaurants",
            "limit:spend restaurant",
            "Limit: let me know if I spend more than $500 on restaurants",
        ),
        (
            "I'm anxious today because of the exam",
            "feeling:exam",
            "Anxious today (2026-11-21) because of the exam",
        ),
        ("I have an appointment tomorrow", "date:appointment", "Appointment tomorrow (2026-11-22)"),
        ("my favorite food is lasagna", "favorite:food", "Favorite food: lasagna"),
        ("my email is sam@example.com", "contact:email", "Email: sam@example.com"),
        ("meu site é www.ana.com.br, dá uma olhada", "contact:site", "Site: www.ana.com.br"),
        ("my website is https://ana.io/me?x=1,2", "contact:website", "Website: https://ana.io/me?x=1,2"),
        ("my name is X Æ A-12", "name", "Name: X Æ A-12"),
        ("my name is O'Brien-Smith", "name", "Name: O'Brien-Smith"),
        ("my name is John F. Kennedy", "name", "Name: John F. Kennedy"),
        ("meu nome é Maria-Clara D'Ávila", "name", "Nome: Maria-Clara D'Ávila"),
        ("gosto sim de pimenta, falei errado", "taste:pimenta", "Gosta de pimenta"),
        ("meu aniversário é 15 de março, errei", "birthday", "Aniversário: 15 de março"),
        ("my birthday is March 15, my mistake", "birthday", "Birthday: March 15"),
        ("I live in Leeds, I mean Bradford", "home", "Lives in Bradford"),
        ("moro em Braga, quer dizer, Porto", "home", "Mora em Porto"),
        ("i moved to Lisbon in 2021", "home", "Lives in Lisbon (since 2021)"),
        ("me mudei pra Lisboa em 2021", "home", "Mora em Lisboa (desde 2021)"),
        ("I was born on 12/05/1990", "birthday", "Birthday: 12/05/1990"),
        ("namorado Rafa e ele é vegano", "family:boyfriend:rafa:diet", "Namorado Rafa é vegano"),
        ("mum is Carol and she lives in Leeds", "family:mother:carol:home", "Mum Carol lives in Leeds"),
        ("minhas filhas são a Bia e a Lara", "family:daughter:names", "Filhas: a Bia e a Lara"),
        ("devo 2 mil pro meu cunhado", "money:debt:cunhado", "Deve 2 mil a seu cunhado"),
        ("i owe dave £40", "money:debt:dave", "Owes dave £40"),
        ("I take metformin twice a day", "health:metformin", "Takes metformin twice a day"),
        ("estou aprendendo inglês", "language:ingle", "Está aprendendo inglês"),
        ("o aluguel subiu pra 2000", "money:aluguel", "Aluguel: 2000"),
        (
            "sexta que vem tenho consulta no cardiologista",
            "date:consulta:cardiologista",
            "Consulta no cardiologista sexta que vem (2026-11-27)",
        ),
        ("I have 2 kids: Lucas, 7, and Bia, 4", "family:children", "Has 2 kids: Lucas, 7, and Bia, 4"),
        (
            "I have two daughters, Ann (7) and Bea (4)",
            "family:daughter",
            "Has two daughters: Ann (7) and Bea (4)",
        ),
        ("i have 2 kids named lucas and bia", "family:children", "Has 2 kids: lucas and bia"),
        (
            "my budget for the trip is 2,000 euros",
            "limit:budget trip",
            "Budget for the trip: 2,000 euros",
        ),
        ("I have a budget of $500 for food", "limit:budget food", "Budget for food: $500"),
        ("my sister Ann's birthday is May 5", "family:sister:ann:birthday", "Birthday of sister Ann: May 5"),
        ("the flight was moved to December 20", "date:flight", "Flight: December 20"),
        ("my dog's name is actually Bob", "pet:dog:bob", "Dog: Bob"),
    ],
)
@pytest.mark.spec("HM-8")
def test_one_fact(message: str, key: str, content: str) -> None:
    assert [(fact.key, fact.content) for fact in facts(message)] == [(key, content)]


@pytest.mark.parametrize(
    ("message", "keys"),
    [
        ("Meu nome é Pedro, sou vegetariano e odeio coentro.", ["name", "diet", "taste:coentro"]),
        ("My name is Pedro, I'm vegetarian and I hate cilantro.", ["name", "diet", "taste:cilantro"]),
        (
            "Oi! Eu sou o Pedro, tenho 32 anos, moro em Curitiba e trabalho como dev na Totvs.",
            ["name", "age", "home", "work"],
        ),
        ("I'm Pedro, I'm 32, I live in Austin and work as a dev at Dell.", ["name", "age", "home", "work"]),
        ("adoro pão, queijo e vinho", ["taste:pao", "taste:queijo", "taste:vinho"]),
        ("minha mãe mora em Recife e meu pai é médico", ["family:mother:home", "family:father:work"]),
        ("My parents live in Ohio and love hiking", ["family:parents:home"]),
        (
            "my wife Sarah is a nurse and she's allergic to penicillin",
            ["family:wife:sarah:work", "family:wife:sarah:allergy"],
        ),
        (
            "minha mãe, a Célia, mora em Piracicaba e tem 62 anos",
            ["family:mother:celia:home", "family:mother:celia:age"],
        ),
        ("my brother Tom is 30. He lives in Leeds.", ["family:brother:tom:age", "family:brother:tom:home"]),
        ("gosto de gato mas não de cachorro", ["taste:gato", "taste:cachorro"]),
        ("I like cats but not dogs", ["taste:cat", "taste:dog"]),
        ("i'm Tom, 34, from Leeds but I live in Bristol", ["name", "age", "origin", "home"]),
        ("sou a Ana, 28 anos, de Recife", ["name", "age", "origin"]),
        ("odeio coentro. adoro coentro.", ["taste:coentro"]),
        ("gosto de jazz e de samba, e também de forró", ["taste:jazz", "taste:samba", "taste:forro"]),
        ("I like jazz, blues, and soul", ["taste:jazz", "taste:blue", "taste:soul"]),
        ("I hate onions, and also garlic", ["taste:onion", "taste:garlic"]),
        ("I love hiking as well as swimming", ["taste:hiking", "taste:swimming"]),
        (
            "my best friend is Zoe and she lives in leeds and her bday is march 12",
            ["family:friend:zoe", "family:friend:zoe:home", "family:friend:zoe:birthday"],
        ),
        (
            "minha melhor amiga é a Zoe, ela mora em Leeds e o niver dela é 12 de março",
            ["family:friend:zoe", "family:friend:zoe:home", "family:friend:zoe:birthday"],
        ),
        ("tenho 2 irmãos, Pedro e João, e trabalho na Vivo", ["family:brother", "work"]),
        ("I have two kids, and I live in Leeds", ["family:children", "home"]),
        ("adoro pizza, e você?", ["taste:pizza"]),
        ("I like pizza, and you?", ["taste:pizza"]),
    ],
)
def test_several_facts_in_one_message(message: str, keys: list[str]) -> None:
    assert [fact.key for fact in facts(message)] == keys


def test_the_last_word_on_a_slot_holds() -> None:
    assert [fact.content for fact in facts("odeio coentro. adoro coentro.")] == ["Adora coentro"]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "Olha, meu nome é Pedro, sou vegetariano e odeio coentro.",
            ["meu nome é Pedro", "sou vegetariano", "odeio coentro"],
        ),
        ("naum   gosto de  JILÓ!!", ["naum   gosto de  JILÓ"]),
        ("vc sabia? to mto triste hj", ["to mto triste hj"]),
        ("lembra que a chave fica no vaso.", ["a chave fica no vaso"]),
        ("cafe\u0301 e\u0301 bom. Odeio cafe\u0301", ["Odeio cafe\u0301"]),
    ],
)
@pytest.mark.spec("BY-1")
def test_words_are_a_verbatim_piece_of_the_message(message: str, words: list[str]) -> None:
    found = [fact.words for fact in facts(message)]
    assert found == words
    assert all(each in message for each in found)


@pytest.mark.parametrize(
    ("strong", "weak"),
    [
        ("amo jazz", "acho jazz legal"),
        ("odeio jiló", "não gosto de jiló"),
        ("estou muito triste", "estou meio triste"),
        ("I love jazz", "I think jazz is cool"),
        ("I'm extremely stressed", "I'm a bit stressed"),
    ],
)
def test_strong_wording_weighs_more(strong: str, weak: str) -> None:
    assert facts(strong)[0].weight > facts(weak)[0].weight


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("meu nome é Pedro", "bio"),
        ("odeio coentro", "pref"),
        ("estou ansioso", "emo"),
        ("quero juntar R$ 100", "obj"),
        ("anota: o portão é verde", None),
    ],
)
@pytest.mark.spec("HM-5")
def test_kind(message: str, kind: str | None) -> None:
    assert facts(message)[0].kind == kind


def test_kinds_are_those_of_the_records() -> None:
    assert set(get_args(MemoryKind)) == set(get_args(Kind))


@pytest.mark.parametrize(
    ("message", "contexts"),
    [
        ("sou vegetariano", {"alimentação", "comida", "dieta", "food", "diet"}),
        ("odeio coentro", {"alimentação", "food", "coentro"}),
        ("I hate cilantro", {"alimentação", "food", "cilantro"}),
        ("meu nome é Pedro", {"nome", "name"}),
        ("tenho uma irmã chamada Ana", {"irmã", "sister", "família", "Ana"}),
        ("quero juntar R$ 10.000 para uma viagem", {"meta", "goal", "dinheiro", "money"}),
    ],
)
def test_bindings_are_in_both_languages(message: str, contexts: set[str]) -> None:
    assert contexts <= set(facts(message)[0].bindings)


def test_what_is_no_food_is_not_found_under_food() -> None:
    assert "alimentação" not in facts("odeio trânsito")[0].bindings


@pytest.mark.parametrize(
    "message", ["meu nome é " + "Ana " * 90, "decidi " + "palavra" * 80, "lembra que " + "x" * 900]
)
def test_a_fact_fits_the_record(message: str) -> None:
    for fact in facts(message):
        assert len(fact.key) <= 120
        MemoryDraft(
            content=fact.content,
            kind=fact.kind,
            key=fact.key,
            bindings=fact.bindings,
            weight=fact.weight,
            source=Source(words=fact.words),
        )


@pytest.mark.parametrize(
    ("message", "language", "expected"),
    [
        ("onde eu moro?", "pt", "casa"),
        ("o que tem na minha dieta?", "pt", "dieta"),
        ("what should I eat?", "en", "food"),
        ("me fala do projeto Apollo", "pt", "Apollo"),
    ],
)
@pytest.mark.spec("HM-9")
def test_topics_of_any_message(message: str, language: Language, expected: str) -> None:
    topics = message_contexts(message, language)
    assert expected in topics
    assert len(topics) <= 3


def test_topic_bindings() -> None:
    assert topic_bindings("name") == ("nome", "name")
    assert topic_bindings("no such topic") == ()


@pytest.mark.parametrize("message", ["gosto de " + "bla " * 400, "lembra que " + "bla " * 400])
def test_what_is_shortened_says_so(message: str) -> None:
    (fact,) = facts(message)
    assert fact.shortened and fact.content.endswith("…")
    assert len(fact.content) < 600


def test_a_list_that_is_too_long_says_so() -> None:
    told = facts("gosto de " + ", ".join(f"coisa{chr(97 + n)}" for n in range(25)))
    assert len(told) == 20 and told[-1].shortened
    assert not facts("gosto de jazz")[0].shortened
