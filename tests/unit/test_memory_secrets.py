"""Secrets are found and masked; what only talks about them is left alone."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from thoughtcycle.memory.text.secrets import MARK, holds_secret, masked, secret_values, writes_mask_over

SETS = Path(__file__).parents[1] / "data" / "secrets"

SECRETS = [
    ("Minha senha do banco é Tigre#9982, não conta pra ninguém.", "Tigre#9982"),
    ("my password is hunter2!X", "hunter2!X"),
    ("Please remember: the garage code is 4711#", "4711#"),
    ("Senha do banco: 9988", "9988"),
    ("senha do banco 482913", "482913"),
    ("PIN 4821", "4821"),
    ("cvv 123", "123"),
    ("troquei a senha do cofre por 7788", "7788"),
    ("login pedro senha tigre99", "tigre99"),
    ("my password is correct horse battery staple", "correct horse battery staple"),
    ("my pw is hunter2", "hunter2"),
    ("tigre99 é a senha do cofre", "tigre99"),
    ("lol my password is literally just banana", "banana"),
    ("the passowrd is a whole sentence: my cat hates mondays", "my cat hates mondays"),
    ("a senha do pc é o nome do meu cachorro, Bolinha", "Bolinha"),
    ("dana@example.com:popcorn4days", "popcorn4days"),
    ("o pin é quatro oito dois um", "quatro oito dois um"),
    ("unlock pattern: top left, middle, bottom right", "top left, middle, bottom right"),
    ("WIFI:S:HomeNet;T:WPA;P:jupiter88;;", "jupiter88"),
    ("define('DB_PASSWORD', 'uZ#19bdkQ)e');", "uZ#19bdkQ)e"),
    ("seed: orphan cradle tobacco muffin glide essay", "orphan cradle tobacco muffin glide essay"),
    ("locked out of my account: first pet = Biscuit", "Biscuit"),
    ("cartão 6445 - 7962 - 3588 - 0054", "6445 - 7962 - 3588 - 0054"),
    ('{"password": "hunter2"}', "hunter2"),
    ("DB_PASSWORD=tudo-bem", "tudo-bem"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI/K7MDENG"),
    ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("curl -u a:b", "b"),
    ("cartão 4111.1111.1111.1111", "4111.1111.1111.1111"),
    ("cartão 4111  1111  1111  1111", "4111  1111  1111  1111"),
    ("ftp://ana:tig@re99@ftp.example.com/x", "tig@re99"),
    ("abandon ability able about above absent absorb abstract absurd abuse access zoo",) * 2,
    ("minha senha do wifi é abacate123", "abacate123"),
    ("a senha é Tr0ub4dor&3, não conta pra ninguém", "Tr0ub4dor&3"),
    ("senha: hunter2", "hunter2"),
    ("guarde a senha do wifi: casa-azul", "casa-azul"),
    ("meu PIN é 4821", "4821"),
    ("o código de segurança do cartão é 123", "123"),
    ("minha senha do banco é girassol.", "girassol"),
    ("mudei a senha do e-mail para Xk29!pq", "Xk29!pq"),
    ("my password is hunter2", "hunter2"),
    ("the wifi password is sunflower", "sunflower"),
    ("My Netflix password: BlueSky", "BlueSky"),
    ("I changed my password to Xk29!pq.", "Xk29!pq"),
    ('the passcode is "open sesame"', "open sesame"),
    ("PIN: 0000", "0000"),
    ("api_key=abcd1234efgh", "abcd1234efgh"),
    ("my seed phrase is apple river stone cloud", "apple river stone cloud"),
    ("cartão 4111 1111 1111 1111 vence em 12/28", "4111 1111 1111 1111"),
    ("card 5555555555554444", "5555555555554444"),
    ("amex 3782 822463 10005", "3782 822463 10005"),
    ("use sk-proj-abcdefghijklmnopqrstuv", "sk-proj-abcdefghijklmnopqrstuv"),
    ("AKIAIOSFODNN7EXAMPLE is the id", "AKIAIOSFODNN7EXAMPLE"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
    ("Authorization: Bearer abcdefghijklmnop1234", "abcdefghijklmnop1234"),
    ("mongodb://root:s3cr3t@db.example.com/x", "s3cr3t"),
    (
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk",
    ),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
    ),
]

PLAIN = [
    "esqueci minha senha",
    "minha senha é difícil de lembrar",
    "my password is wrong",
    "o PIN é importante",
    "como troco minha senha para entrar?",
    "meu telefone é +55 11 91234 5678",
    "cartão 4111 1111 1111 1112",
    "o pedido 1234567890123456 chegou",
    "meu CPF é 529.982.247-25",
    "gastei R$ 4.111,11",
    "https://example.com:8080/a@b",
    "o segredo é treinar todo dia",
    "I pinned the message",
    "assunto2 " * 12,
    "ontem falei da senha, e hoje chove",
    "a senha da fila é 132",
    "minha senha é longa pra digitar na tv",
    "the answer to question 3 is mitochondria",
    "set an alarm for 0630",
    "my password should be longer",
    "how do I explain to my kid why passwords matter",
    "o número de telefone é 99999-1234",
    "código de reserva HMX4Q2ZP",
    "my first car was a 98 civic",
    "docker run -p 8080:80 -d nginx",
    "fields = ['password', 'first_name']",
    "",
]


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize(("text", "value"), SECRETS)
def test_a_secret_is_masked(text: str, value: str) -> None:
    shown = masked(text)
    assert shown == text.replace(value, MARK)
    assert masked(shown) == shown
    assert holds_secret(text)


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


@pytest.mark.spec("BY-10")
def test_several_secrets_are_found_in_order() -> None:
    text = "senha: abc1 e cartão 4111111111111111, PIN: 9876"
    assert secret_values(text) == ["abc1", "4111111111111111", "9876"]
    assert masked(text) == f"senha: {MARK} e cartão {MARK}, PIN: {MARK}"


def test_letters_that_fold_to_several_do_not_move_the_mask() -> None:
    assert masked("ﬁm ßtraße İ: senha: abc1") == f"ﬁm ßtraße İ: senha: {MARK}"


def test_secrets_that_overlap_are_masked_to_the_end_of_the_last() -> None:
    assert masked("my password is abandon " + "ability " * 11 + "zoo!") == f"my password is {MARK}!"


def _labelled() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for path in sorted(SETS.glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for kind in ("-s-", "-i-"):
            yield f"{path.stem}{kind[:2]}", [row for row in rows if kind in row["id"]]


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize(
    ("name", "rows"), tuple(_labelled()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_the_labelled_sets_are_told_apart(name: str, rows: list[dict[str, Any]]) -> None:
    """Forms by authors who had not seen the module: every secret masked whole, no innocent sentence touched."""
    shown = {row["id"]: masked(row["text"]) for row in rows}
    secrets = {row["id"] for row in rows if any(each in shown[row["id"]] for each in row["secret"])}
    touched = {row["id"] for row in rows if not row["secret"] and shown[row["id"]] != row["text"]}
    assert (secrets, touched) == (set(), set())
    assert {text for text in shown.values() if masked(text) != text} == set()


HOSTILE = """a¦1¦A1b¦senha ¦senha: ¦senha e ¦senha é ¦password is ¦4111 ¦1 ¦1-¦1.¦sk-¦eyJa.¦-----BEGIN ¦a:b@¦://a:¦pin is ¦"¦'¦"a¦a="¦
key=¦password="¦a.¦a_¦1_¦-¦:¦=> ¦bearer ¦basic ¦authorization: ¦mysql -p¦redis-cli ¦curl -u a:¦type ¦abandon ¦i use x as my password ¦
pin 1234 ¦senha 1234 x1y2z3 ¦a@b.¦é¦ﬁ¦security question answer: ¦one two ¦a-b-c ¦x$y¦http://a ¦/bot1¦'s ¦= ¦(1) ¦ e ¦
-----BEGIN PRIVATE KEY-----¦a@b.com / ¦4111 - ¦WIFI:S:¦("a","¦password: a sentence ¦my passphrase is a ¦security answers: ¦
seed: abandon ¦bank first car ¦"a" is a good password ¦4 left, ¦login: a / ¦user a pass ¦seed: ¦mysql -u a zip -P ¦pin A1B2 """


@pytest.mark.parametrize("unit", re.split(r"¦\n?", HOSTILE))
def test_hostile_texts_are_read_in_no_time(unit: str) -> None:
    text, times = (unit * 10_000)[:10_000], []
    masked("senha: x")
    for _ in range(3):
        start = time.thread_time()
        masked(text)
        times.append(time.thread_time() - start)
        if times[-1] < 0.05:
            return
    assert min(times) < 0.05


WIFI = "A senha do wifi é girassol77"


@pytest.mark.spec("BY-10")
@pytest.mark.parametrize(
    ("new", "old", "away"),
    [
        (f"A senha do wifi da casa nova é {MARK}", WIFI, True),
        ("A senha do wifi da casa nova é ***", WIFI, True),
        ("A senha do wifi é •••", WIFI, True),
        ("A senha do wifi da casa nova é girassol77", WIFI, False),
        ("A senha do wifi é girassol77, ***importante***", WIFI, False),
        ("A senha do wifi agora é rosa88", WIFI, False),
        ("Não usa mais o wifi", WIFI, False),
        ("Mora em […]", "Mora em Recife", True),
        ("Disse: […] e foi embora, em Natal", "Disse: […] e foi embora", False),
        ("Gosta de ***jazz***", "Gosta de samba", False),
    ],
)
def test_a_mask_in_place_of_the_words_is_recognised(new: str, old: str, away: bool) -> None:
    assert writes_mask_over(new, old) is away
