"""Secrets are found and masked; what only talks about them is left alone."""

import time

import pytest

from thoughtcycle.memory.text.secrets import MARK, holds_secret, masked, secret_values, writes_mask_over

SECRETS = [
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


@pytest.mark.parametrize(
    "unit", ["senha ", "senha: ", "4111 ", "1", "sk-", "eyJ", "-----BEGIN ", "a:b@", "pin is "]
)
def test_a_whole_book_is_read_in_no_time(unit: str) -> None:
    start = time.thread_time()
    masked(unit * (200_000 // len(unit)))
    assert time.thread_time() - start < 9


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
