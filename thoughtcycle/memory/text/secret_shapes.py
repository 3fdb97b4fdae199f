"""Secrets by their form: keys, cards, recovery words, credentials in code and addresses (pure)."""

import re
from collections.abc import Iterator

from thoughtcycle.memory.text.spans import Span

URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>]{1,2000}")
_PRIVATE = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
# Prefixes that services document for their keys; JSON web tokens; keys without a prefix by their whole form.
_KEY = re.compile(
    r"(?<![\w-])(?:\$?[a-z]{2,5}_(?:live|test|prod)_[\w-]{10,300}|sk-[\w-]{16,300}"
    r"|gh[pousr]_\w{20,255}|github_pat_\w{20,255}|gl[a-z]{2,5}-[\w.-]{16,300}|xox[a-z]-[\w-]{10,300}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}(?:[ ]?[/:,;|][ ]?[\w+/]{40}(?!\w))?"
    r"|AIza[\w-]{30,60}|GOCSPX-[\w-]{20,60}|ya29\.[\w-]{20,300}|EAA[A-Za-z0-9]{30,300}"
    r"|(?:hf|npm|gsk|ntn|figd|r8|re|whsec|sbp|nvapi|pplx|xai|do[op]_v1|shp[a-z]{2}|lin_api|tskey|pypi|PMAK|NRAK"
    r"|APP_USR|TEST|dckr_pat|glsa|rubygems|secret|key|sq0[a-z]{3}|django-insecure)[-_](?=[\w-]{0,40}(?:\d|[A-Z]{2}[a-z]))[\w-]{20,400}"
    r"|dapi[0-9a-f]{32}|SK[0-9a-f]{32}|[0-9a-f]{32}-us\d{1,2}|SG\.[\w-]{16,40}\.[\w-]{16,60}|hv[sb]\.[\w-]{20,300}"
    r"|eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{8,2000}|\d{8,10}:[\w-]{30,50}|AGE-SECRET-KEY-1\w{58}|[xyz]prv\w{90,120}|nsec1\w{58}"
    r"|G-\d{6}(?!\d)|[5KL][1-9A-HJ-NP-Za-km-z]{50,51}(?!\w)|A3-[A-Z0-9]{6}(?:-[A-Z0-9]{5,6}){4,5}|[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}(?![\w-])|\d{6}(?:-\d{6}){7}|(?=[A-Z]{0,4}\d)[A-Z0-9]{4}(?:-[A-Z0-9]{4}){5})"
)
_RANDOM = re.compile(r"(?<![\w$.%/+=@-])\$?\w[\w.+~-]{19,600}={0,2}(?![\w/@=])")
_PUBLIC = re.compile(
    r"0x|sha\d{3}-|AAAA[A-Z]3|[13][a-km-zA-HJ-NP-Z1-9]{25,34}$|.*\.(?:jpe?g|png|pdf|mp[34]|zip)$"
)
"""Public values that look random: addresses and hashes of chains, checksums, public keys, files."""
_TURN = re.compile(r"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[a-z0-9]|(?<=[0-9])[A-Za-z]")
_CARD = re.compile(
    r"(?<![\w+.,/:-])[2-6]\d{2,18}(?:[ \u00a0]{0,2}[._/\u2013-]?[ \u00a0]{0,2}\d{3,7}){0,6}(?![\w-]|[.,]\d)"
)
_GROUP = re.compile(r"\d+")
_BEHIND_CARD = re.compile(
    r"[\s|,;]{1,3}(?:[a-z]{2,9}[ .:]{1,2})?\d{1,2}[/|-]\d{2,4}[\s|,;]{1,3}"
    r"(?:[a-z]{2,9}[ .:]{1,2})?(?P<code>\d{3,4})(?![\w/])",
    re.IGNORECASE,
)
"""The date to which a card is valid, and its code."""
_ISSUED = re.compile(
    r"(?:3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|35[2-8]\d{13}|4\d{12}|(?:[456]\d|2[2-7])\d{14}|(?:4|5[06-8]|6)\d{17,18})$"
)
_PERSONAL = re.compile(
    r"(?<![\w.,-])(?:\d{3}\.\d{3}\.\d{3}-\d{2}|\d{11}|\d{2}\.\d{3}\.\d{3}/\d{4}-\d{2}|\d{1,2}\.\d{3}\.\d{3}-[\dxX]"
    r"|\d{3}-\d{2}-\d{4}|(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,3}\)|\d{2,3})[ .-]?\d{3,5}[ .-]\d{4}|\+\d{8,15})"
    r"(?![\w-])"
)
_ADDRESS = re.compile(
    r"://[^\s:/@]{0,100}:(?P<password>[^\s/]{1,200})@|hooks\.slack\.com/\w{1,20}/(?P<slack>[\w/-]{10,200})"
    r"|/webhooks/\d{1,30}/(?P<hook>[\w-]{20,200})|/bot(?P<bot>\d{6,12}:[\w-]{20,60})"
    r"|(?<![\w.])[\w.*-]{1,60}:(?:\d{2,5}|\*):[\w*-]{1,40}:[\w*-]{1,40}:(?P<pgpass>[^\s:]{1,80})"
    r"|\bWIFI:[^\n]{0,100}?\bP:(?P<wifi>[^;\n]{1,64});"
)
_HEADER = re.compile(
    r"(?i:authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:basic|token|bearer|digest|apikey)\s{1,3}"
    r"|\bbearer[ ]{1,3}(?=[\w.~+/-]{16})|\bbasic[ ]{1,3}(?=[A-Za-z0-9+/]{12,400}={0,2}(?![\w-])))"
    r"(?P<value>[\w.~+/=-]{4,2000})"
)
# A name by which one signs in, and its password: "ana@example.com:…", "admin/…", an e-mail address "/ …".
_PAIR = re.compile(
    r"(?<![\w.+/@:-])(?:[\w.+-]{1,64}@[\w-]{1,60}(?:\.[\w-]{1,20}){1,4}|(?i:admin(?:istrator|istrador)?|root|sa))"
    r"(?:[:|;,/]|[ ]{1,2}[:|/–—-][ ]{1,2}|[ ,]{1,2}(?:and|e|&|pass|pw)[: ]{1,2})"
    r"(?P<value>[^\s/|\"'<>]{4,60})(?![/:])"
)
_COMMAND = re.compile(
    r"(?:\s(?:-u|--user)[ =]?[\"']?[^\s:\"'/]{1,100}:(?!//)|\bmysql(?:dump)?\b[^\n]{0,80}?\s-p"
    r"|\bsshpass\s{1,3}-p\s{0,3}|(?<![\w-])--?[a-z-]{0,20}(?:pass(?:word|wd|phrase|code|in|out)?|pwd|senha|secret|token|api-?key|auth-?key"
    r"|access-?key|secret-?key)[ =](?:(?:pass|env|file):)?(?!-)|\bnet user \w{1,40} "
    r"|\b(?:docker|podman|helm|az|oc|heroku|npm)\b[^\n]{0,40}?\blogin\b[^\n]{0,80}?\s-p[ ]"
    r"|\b(?:mongo|twine|smb)[^\n]{0,80}?\s-p[ ]"
    r"|\bldap\w{3,8}\b[^\n]{0,80}?\s-w[ ]|\bsmbclient\b[^\n]{0,80}?\s-U[ ]?\w{1,40}%"
    r"|\b(?:un)?zip\b[^\n]{0,40}?\s-P[ ]?"
    r"|\b(?:7za?|(?:un)?rar)\b[^\n]{0,40}?\s-h?p(?=[^\s-])|\bsqlcmd\b[^\n]{0,80}?\s-P[ ]?"
    r"|\bopenssl\b[^\n]{0,80}?\s-k[ ]"
    r"|\bhtpasswd\s{1,3}-\w{1,4}\s{1,3}\S{1,60}\s{1,3}\S{1,40}\s{1,3}"
    r"|\bredis-cli\b[^\n]{0,80}?\s-a\s"
    r"|\bauth\s?=\s?\(\s?[\"'][^\"'\n]{1,100}[\"'],\s?|(?i:\bidentified by|\bwith password)\s{1,3})"
    r"(?P<quote>[\"']?)(?P<value>[^\s\"']{1,200})(?P=quote)"
    r"|\becho\s{1,3}[\"']?[\w.-]{1,40}:(?P<piped>[^\s\"':]{1,100})[\"']?\s{0,2}\|\s{0,2}(?:sudo )?chpasswd"
)
# Names of settings that hold secrets; those of `weak` only where the value is long, with digits.
_SETTING = re.compile(
    r"(?:(?<![a-z])pass|P(?:ASS|ass)|(?<![a-z])(?:psk|PSK)|(?i:pass(?:wor?d|phrase|code)|passwd|pwd|pswd?|senha|secret|token"
    r"|mnemonic|credential|sess(?:ion)?_?id|jwt|chave[_.-]?(?:api|secreta|de_acesso|privada)"
    r"|(?:api|access|secret|private|account|auth|encryption|master|signing|service|storage|shared|deploy|license"
    r"|client|consumer|subscription|webhook|recovery|role|app)[_.-]?key(?:[_.-]?base)?)"
    r"|(?P<weak>(?i:(?<![a-z])(?:key|sig|signature|auth|session|sid|code|cookie))))"
    r"(?:[_.-]?(?:\d{1,3}|(?i:old|new|prod|dev|local|test|value|base64|b64|raw|env|app|db|root|admin|wifi|bd))){0,2}$"
)
_ASSIGNED = re.compile(
    r"(?<![\w.$-])(?P<name>[\w.$-]{2,80})(?P<sign>[\"'\]]{0,2}[ \t]{0,3}(?::=|=>|:|=(?!=))[ \t]{0,3}"
    r"|[\"'][ ]?,[ ]?(?=[\"']))"
)
_ARGUMENT = re.compile(r"\w\([ ]?[\"']$")
_ELEMENT = re.compile(r"<(?P<name>[\w.:-]{2,60})>(?P<value>[^<>\n]{1,200})</")
_VALUE = re.compile(r"(?P<quote>[\"'`])(?P<quoted>[^\n]{1,300}?)(?P=quote)|[^\s\"'`,;<>(){}\[\]|&]{1,300}")
_TO_SPACE = re.compile(r"[^\s\"']{1,300}")
_PLACEHOLDER = re.compile(
    r"[$%<{*•.…]|\W+$|[x*•.…_-]{3,}$|\\|f?[\"']|(?i:your|sua|seu|my|minha|example|exemplo|change_?me|placeholder|insert"
    r"|null|none|nil|true|false|undefined|required|str(?:ing)?|text|bytes|int|bool|any|optional|self|os|process|env|config"
    r"|settings|request|req|res|this|data|form|user|props|state|ctx|input|getpass|vault|ref|async|await|new|password|senha"
    r"|token|secret|confirm[a-z]*|hash[a-z]*|bearer|basic)(?:$|[^\w-]|[_.-][a-z_.-]*$)"
)
_CALL = re.compile(r"[A-Za-z_][\w.]{0,60}[(\[]")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W\d_]+")
_BETWEEN = re.compile(r"[\s,;.|)\"'-][\s\d,;.|)\"'-]{0,7}")
RECOVERY_WORDS = 11
"""Words in a row of a wallet's list that are a recovery phrase: twelve, of which one may be cut off."""


def private_keys(text: str) -> Iterator[Span]:
    """Private keys in PEM form, to their end or that of the text."""
    if "PRIVATE KEY" in text:
        yield from (match.span() for match in _PRIVATE.finditer(text))


def keys(text: str) -> Iterator[Span]:
    """Keys and tokens by their prefix, or by letters and digits in no order; none inside an address."""
    yield from (match.span() for match in _KEY.finditer(text))
    urls = iter([*(match.span() for match in URL.finditer(text)), (len(text), len(text))])
    first, last = next(urls)
    for match in _RANDOM.finditer(text):
        start, end = match.start(), match.start() + len(match[0].rstrip("."))
        while last <= start < len(text):
            first, last = next(urls)
        if start < first and _looks_random(text[start:end]):
            yield start, end


def _looks_random(token: str) -> bool:
    """Whether capitals, small letters and digits change places as they do in no word or name."""
    best = max(re.split(r"[._~=+-]", token), key=len)
    kinds = [any(map(kind, best)) for kind in (str.islower, str.isupper, str.isdigit)]
    turns = len(_TURN.findall(best))
    return len(best) >= 16 and all(kinds) and turns > 0.3 * len(best) and not _PUBLIC.match(token)


def cards(text: str) -> Iterator[Span]:
    """Numbers of payment cards, by issuer and check digit (ISO/IEC 7812-1)."""
    for match in _CARD.finditer(text):
        groups = [group.span() for group in _GROUP.finditer(text, *match.span())]
        windows = (
            (groups[first][0], groups[last][1])
            for first in range(len(groups))
            for last in reversed(range(first, min(first + 5, len(groups))))
        )
        for start, end in windows:
            signs = {sign.strip() for sign in _GROUP.split(text[start:end])[1:-1]}
            if len(signs) < 2 and end - start > 12 and _is_card("".join(_GROUP.findall(text, start, end))):
                yield start, end
                if code := _BEHIND_CARD.match(text, end):
                    yield code.span("code")
                break


def _is_card(number: str) -> bool:
    if not _ISSUED.match(number):
        return False
    digits = [int(char) for char in reversed(number)]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def recovery_words(folded: str, words: frozenset[str], least: int = RECOVERY_WORDS) -> Iterator[Span]:
    """A wallet's recovery phrase: `least` of its words in a row, numbered or not."""
    run: list[Span] = []
    for match in _WORD.finditer(folded):
        known = match[0] in words
        gap = folded[run[-1][1] : match.start()] if run else ""
        full = len(run) >= least
        if run and not (known and _BETWEEN.fullmatch(gap) and not (full and "\n" in gap and gap.isspace())):
            if full:
                yield run[0][0], run[-1][1]
            run = []
        if known:
            run.append(match.span())
    if len(run) >= least:
        yield run[0][0], run[-1][1]


def personal_numbers(text: str) -> Iterator[Span]:
    """Numbers of documents and telephones: CPF, CNPJ, RG, SSN; no secrets, but nothing for strangers."""
    yield from (match.span() for match in _PERSONAL.finditer(text))


def credentials(text: str) -> Iterator[Span]:
    """Values by the names of their settings, in code, configuration, headers, commands and addresses."""
    for pattern in (_ADDRESS, _HEADER, _COMMAND):
        for match in pattern.finditer(text):
            span = match.span(match.lastgroup or 0)
            if not is_expression(text, *span):
                yield span
    for match in _PAIR.finditer(text):
        start, end = match.start("value"), match.start("value") + len(match["value"].rstrip(".,;!?)"))
        if oddness(text[start:end]) > (text[start - 2] in "-–—"):
            yield start, end
    for match in _ELEMENT.finditer(text):
        if _SETTING.search(match["name"]) and not is_expression(text, *match.span("value")):
            yield match.span("value")
    done = 0
    for match in _ASSIGNED.finditer(text):
        name = _SETTING.search(match["name"]) if match.start() >= done else None
        listed = "," in match["sign"]
        if name is None or (match["sign"].strip() == ":" and match["name"].isalpha()):
            continue  # "senha: …" is said, not set
        if listed and not _ARGUMENT.search(text, max(0, match.start() - 4), match.start()):
            continue
        whole = match["name"].isupper() and "=" in match["sign"]
        value = (whole and _TO_SPACE.match(text, match.end())) or _VALUE.match(text, match.end())
        if not value:
            continue
        quoted = value.re is _VALUE and bool(value["quote"])
        start, end = value.span("quoted" if quoted else 0)
        end = start + len(text[start:end].rstrip("" if quoted else ",;.!?"))
        done = end
        long = end - start >= 16 and _DIGIT.search(text, start, end)
        if listed and text[start:end].replace("_", "").isalpha():
            continue
        if (long or not name["weak"]) and not is_expression(text, start, end):
            yield start, end


def is_expression(text: str, start: int, end: int) -> bool:
    """Whether a value is empty, a placeholder, or code that computes it."""
    code = _PLACEHOLDER.match(text, start, end) or _CALL.match(text, start)
    return start >= end or code is not None or "…" in text[start:end] or text[start : end + 3].endswith("...")


# Forms of words that hold digits or signs and are no passwords.
_ORDINARY = re.compile(
    r"[$£€#@]?[\d.,]+[a-z%°\"']{0,4}$|[a-z]{1,3}\d{1,3}$|\d{1,2}[h:]\d{2}.{0,6}$|v?\d+(?:[._-][a-z0-9]+)+$|--?[\w-]+$"
    r"|[\w.+-]+@[\w-]*\.[\w.-]+$|(?-i:[a-z._-]+@[a-z-]+)$|(?:[\w-]+\.)+(?:com?|org|net|io|br|pt|dev|local|internal|example|app|py|js|ts|json|ya?ml|md"
    r"|txt|pdf|jpe?g|png|csv|sh|env|log|html?|exe|zip|iso|sql|conf|ini|toml)(?:[/:].*)?$|[./~@#].*|[1-9]\d*x\d+.*"
    r"|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$|[\w-]*/.*|.*[(){}\[\]<>;|\\`=:].*|\w+['’]\w*$|(?:r|us|a|c)?\$(?:\d.*|[a-z_]+$)"
    r"|(?:wpa|oauth|sha|base|utf|ipv|win|windows|iphone|ipad|x86_|amd|python|http|office|outlook|gmail|usb|ubuntu|fedora|debian|macos|room|sala|quarto|covid|rsa|ed)-?\d+(?:[._-]\w+)?$"
    r"|1password$",
    re.IGNORECASE,
)
_HEX = re.compile(r"[0-9a-f-]+", re.IGNORECASE)
_SIGN = re.compile(r"[!@#$%&*^+~?](?=.)")
_MIXED = re.compile(r"[a-z][A-Z]|[A-Za-z]\d[A-Za-z]")


def oddness(token: str) -> int:
    """How little a token looks like a word, a number or a name: 0 not at all, to 3 like a password."""
    if not 5 <= len(token) <= 300 or token.isalpha():
        return 0
    if (
        len(token) > 30
        and token[0].isalnum()
        and not _HEX.fullmatch(token)
        and len(_TURN.findall(token)) > 0.3 * len(token)
    ):
        return 2
    if _ORDINARY.match(token):
        return 0
    lower, upper, digit = token != token.upper(), token != token.lower(), _DIGIT.search(token) is not None
    sign, mixed = _SIGN.search(token) is not None, _MIXED.search(token) is not None
    ends = digit and token[-1] in "!#$%&*^"
    if not (lower or upper):
        return 0
    if digit and lower and upper and (sign or ends):
        return 3
    if not digit or _HEX.fullmatch(token):
        return int(digit or sign or len(re.findall(r"\w[_-](?=\w)", token)) >= 2 or token.count(".") > 2)
    joined = lower and upper and (len(token) >= 8 or re.search(r"\w[._-]\w", token) is not None)
    return 2 if sign or ends or joined or (mixed and lower and len(token) >= 7) else int(len(token) >= 6)


def is_strong(token: str) -> bool:
    """Whether a token is a password wherever it stands: letters of both cases, digits and signs."""
    return len(token) >= 9 and oddness(token) == 3 and len(_SIGN.findall(token)) > 1
