"""Facts of everyday life in the words people use for them: one table per class, sentences of no labelled set."""

import re
from datetime import datetime
from typing import Literal

import pytest

from thoughtcycle.language.facts import Fact
from thoughtcycle.language.intents.understanding import understand
from thoughtcycle.language.parse.rulebook import FILES, gate, rule_batches
from thoughtcycle.prompts.loader import LANGUAGES, word_lists

NOW = datetime(2026, 11, 21, 10, 0)
Language = Literal["pt", "en"]


def facts(message: str, language: Language) -> tuple[Fact, ...]:
    return understand(message, language=language, now=NOW).facts


EVENTS = [
    ("en", "sprained my ankle playing futsal", "Sprained their ankle playing futsal"),
    ("en", "I passed my driving test!!", "Passed their driving test"),
    ("en", "we just adopted a greyhound from the shelter", "Adopted a greyhound from the shelter"),
    ("en", "my visa was denied", "Visa was denied"),
    ("en", "got fired this morning", "Got fired this morning"),
    ("pt", "torci o tornozelo jogando futsal", "Torceu o tornozelo jogando futsal"),
    ("pt", "passei na prova da OAB!!", "Passou na prova da OAB"),
    ("pt", "clonaram meu cartão", "Clonaram seu cartão"),
    ("pt", "fui aprovada no mestrado", "Foi aprovada no mestrado"),
    ("pt", "comprei um apartamento em Niterói", "Comprou um apartamento em Niterói"),
]
PEOPLE_AND_THINGS = [
    ("en", "my landlord is Mr Ortiz", "Landlord: Mr Ortiz"),
    ("en", "Clara is 40, Ben is younger", "Clara is 40, Ben is younger"),
    ("en", "my daughter is on the swim team", "Daughter is on the swim team"),
    ("en", "I never miss a game", "Never misses a game"),
    ("en", "I got an offer from the bank", "Got an offer from the bank"),
    ("en", "our biggest customer is Bosch", "Biggest customer: Bosch"),
    ("en", "my friend Marta moved to Oslo", "Friend Marta moved to Oslo"),
    ("en", "spent the day with my nephew Theo", "Nephew: Theo"),
    ("en", "my grandpa has parkinson's", "Grandpa has parkinson's"),
    ("en", "my shoe size is 43", "Shoe size: 43"),
    ("en", "our staging server is called pluto-2", "Staging server: pluto-2"),
    ("en", "i speak basque", "Speaks basque"),
    ("pt", "nosso maior cliente é a Vale", "Maior cliente: Vale"),
    ("pt", "passei o dia com meu sobrinho Theo", "Sobrinho: Theo"),
    ("pt", "meu avô tem parkinson", "Avô tem parkinson"),
    ("pt", "a api é escrita em go", "Api: escrita em go"),
    ("pt", "calço 43", "Calça 43"),
]
HABITS_AND_NEGATION = [
    ("en", "I don't own a tv", "Does not have tv"),
    ("en", "i'm not on tiktok", "Does not have tiktok"),
    ("en", "i can't swim", "Does not swim"),
    ("en", "I've never been abroad", "Has never been abroad"),
    ("en", "I play the cello every thursday", "Usually plays the cello every thursday"),
    ("pt", "não tenho televisão", "Não tem televisão"),
    ("pt", "não sei nadar", "Não sabe nadar"),
    ("pt", "não assisto tv", "Não assiste tv"),
    ("pt", "nunca saí do Brasil", "Nunca saiu do Brasil"),
    ("pt", "malho toda terça", "Malha toda terça"),
]
HEALTH_AND_TASTE = [
    ("en", "onions give me heartburn", "Onions give them heartburn"),
    ("en", "I'm terrible at cooking", "Terrible at cooking"),
    ("en", "camping is not my thing", "Dislikes camping"),
    ("en", "can't get enough of ramen", "Likes ramen"),
    ("en", "I love jazz, mostly from the fifties", "Loves jazz"),
    ("pt", "cebola me dá azia", "Cebola lhe dá azia"),
    ("pt", "uso lentes de contato", "Usa lentes de contato"),
    ("pt", "acampar não é minha praia", "Não gosta de acampar"),
    ("pt", "não vivo sem lamen", "Gosta de lamen"),
    ("pt", "rendo mais de manhã", "Rende mais de manhã"),
]
PLANS = [
    ("en", "training for a half marathon", "Training for a half marathon"),
    ("en", "I'd love to backpack across Peru", "Backpack across Peru"),
    ("en", "thinking of moving to the coast", "Thinking of moving to the coast"),
    ("en", "we went with the blue tiles", "Went with the blue tiles"),
    ("en", "three coffees a day max", "Limit: three coffees a day max"),
    ("en", "the invoice is due on December 3rd", "Invoice: December 3rd"),
    ("en", "quit my job, I'm at Siemens now", "Works at Siemens"),
    ("pt", "tô treinando pra meia maratona", "Treinando pra meia maratona"),
    ("pt", "penso em fazer um mochilão pelo Peru", "Pensa em fazer um mochilão pelo Peru"),
    ("pt", "fechamos com o piso azul", "Fechou com o piso azul"),
    ("pt", "no máximo três cafés por dia", "Limite: no máximo três cafés por dia"),
    ("pt", "a fatura vence dia 3 de dezembro", "Fatura: dia 3 de dezembro"),
]
FEELINGS = [
    ("en", "loud chewing makes me furious", "Furious because of loud chewing"),
    ("en", "jealous of my brother's new house tbh", "Jealous of their brother's new house"),
    ("en", "public speaking terrifies me", "Public speaking terrifies them"),
    ("en", "I'm dreading the dentist", "Dreading the dentist"),
    ("en", "fed up with the noise upstairs", "Fed up with the noise upstairs"),
    ("pt", "prova sempre me deixa nervosa", "Nervosa por causa de prova"),
    ("pt", "meu vizinho me irrita demais", "Seu vizinho lhe irrita"),
    ("pt", "morro de medo de barata", "Medo de barata"),
    ("pt", "de saco cheio do barulho do vizinho", "De saco cheio do barulho do vizinho"),
    ("pt", "que ódio desse trânsito", "Ódio por causa de trânsito"),
]


@pytest.mark.spec("HM-4", "HM-8")
@pytest.mark.parametrize(
    ("language", "message", "content"),
    [*EVENTS, *PEOPLE_AND_THINGS, *HABITS_AND_NEGATION, *HEALTH_AND_TASTE, *PLANS, *FEELINGS],
)
def test_what_is_kept(language: Language, message: str, content: str) -> None:
    assert content in [fact.content for fact in facts(message, language)]


@pytest.mark.spec("HM-4")
@pytest.mark.parametrize(
    ("language", "message", "topic"),
    [
        ("en", "this move makes me anxious", "move"),
        ("en", "can't stop crying since grandma died", "grandma died"),
        ("en", "on edge all week because of the audit", "audit"),
        ("en", "I was hurt by what Ruth said", "ruth"),
        ("en", "I can't take this job anymore, I'm burned out", "job"),
        ("pt", "essa mudança me deixa ansiosa", "mudanca"),
        ("pt", "não paro de chorar desde que minha vó morreu", "vo morreu"),
        ("pt", "tô tensa a semana toda por causa da auditoria", "auditoria"),
        ("pt", "não aguento mais esse emprego, tô acabado", "emprego"),
        ("pt", "bateu saudade do mar", "mar"),
    ],
)
def test_what_a_feeling_is_about(language: Language, message: str, topic: str) -> None:
    felt = [fact for fact in facts(message, language) if fact.kind == "emo"]
    assert [fact.key for fact in felt] == [f"feeling:{topic}"]


@pytest.mark.spec("HM-4")
@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("en", "he sprained his ankle yesterday"),
        ("en", "if I passed my driving test I would buy a van"),
        ("en", "did I tell you I passed my driving test?"),
        ("en", "thinking of moving"),
        ("en", "I'll try that"),
        ("en", "Running a shop is a great way to meet people"),
        ("en", "lmao I became a wizard yesterday"),
        ("en", "don't remember this: I have a new job at Siemens"),
        ("en", "my head is killing me"),
        ("en", "the app is crashing again"),
        ("pt", "Tenho um café na mão"),
        ("pt", "Tenho um bar preferido"),
        ("pt", "Meu trabalho é estressante"),
        ("pt", "Estou com dois amigos agora"),
        ("pt", "Minha mãe vai ficar brava"),
        ("en", "It's spelled Colour"),
        ("en", "Temperature is 30"),
        ("en", "Pizza is 30 bucks"),
        ("en", "Uber is 20 minutes late"),
        ("en", "Tom is a cat person"),
        ("en", "My mother is on the phone"),
        ("en", "My kids are in bed"),
        ("en", "I do nothing for you"),
        ("en", "name is required"),
        ("en", "I joined LinkedIn"),
        ("en", "my wife and I split the bill"),
        ("pt", "ele torceu o tornozelo ontem"),
        ("pt", "se eu passar na OAB vou viajar"),
        ("pt", "tô pensando em mudar"),
        ("pt", "não guarde isso: passei no concurso"),
        ("pt", "kkkk virei um unicórnio"),
        ("pt", "o app tá travando de novo"),
        ("pt", "não tenho tempo"),
        ("pt", "fiz um bolo hoje"),
        ("en", "I made soup yesterday"),
        ("pt", "não sei se vou"),
    ],
)
def test_what_is_not_kept(language: Language, message: str) -> None:
    assert facts(message, language) == ()


@pytest.mark.spec("HM-6")
@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("en", "I graduated in law", "I graduated in engineering"),
        ("en", "my boss is Rita", "my landlord is Otto"),
        ("en", "three coffees a day max", "two beers a day max"),
        ("en", "I teach maths", "I write novels"),
        ("en", "I passed my driving test", "I passed my swimming test"),
        ("pt", "me formei em direito", "me formei em engenharia"),
        ("en", "Ana is allergic to nuts", "Ana is vegetarian"),
        ("en", "email me at ana@x.com", "call me at 555-1234567"),
        ("en", "my client needs invoices in euros", "my client needs weekly reports"),
        ("en", "I got my degree in law", "I got a phd in economics"),
        ("en", "I handle payroll", "I handle hiring"),
        ("pt", "a Ana é alérgica a nozes", "a Ana é vegetariana"),
        ("pt", "minha mãe faz bolo todo domingo", "minha mãe nada toda manhã"),
        ("pt", "meu irmão teve um filho", "meu irmão vem morar aqui"),
        ("pt", "meu chefe é o Otto", "minha dentista é a Rita"),
        ("pt", "no máximo três cafés por dia", "no máximo duas cervejas por dia"),
        ("pt", "passei na prova da OAB", "passei na prova do Detran"),
    ],
)
def test_different_things_have_different_keys(language: Language, one: str, other: str) -> None:
    keys = [{fact.key for fact in facts(message, language)} for message in (one, other)]
    assert all(keys)
    assert not keys[0] & keys[1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_gate_lets_through_whatever_its_rules_match(language: Language) -> None:
    rules = [rule for batch in rule_batches(language) for rule in batch.rules]
    assert len(rules) == sum(len(word_lists(language, f"language/{name}")["rule"]) for name in FILES)
    for _, message, _ in [*EVENTS, *PLANS, *FEELINGS]:
        text = message.lower()
        for batch in rule_batches(language):
            matched = any(rule.patterns and any(rule.matches(text, 0, len(text))) for rule in batch.rules)
            assert batch.may_match(text, 0, (len(text),)) or not matched


def test_a_gate_looks_for_a_common_beginning_once() -> None:
    made = gate(["{my} (?P<x>cat)", "(?:a|b)", "{my} dog"], "en")
    assert made.count("(?:my|our)") == 1
    assert all(re.match(made, said) for said in ("my cat", "our dog", "b"))


@pytest.mark.parametrize("text", ["só vendo se isso funciona", "vendo como fica", "queria tirar uma dúvida"])
def test_looking_is_no_selling_and_a_question_no_goal(text: str) -> None:
    assert understand(text, language="pt", now=NOW).facts == ()
