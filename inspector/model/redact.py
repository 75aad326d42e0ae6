"""Credentials in data, masked: `redacted` makes a copy of a value or a record in which they are replaced by
visible marks like `[redacted:api-key]`.

Two things give a credential away: its own shape (the prefixes that issuers use, tokens of three parts, key
blocks), and the name of the field, header or argument that holds it. A mask says what stood there; it says
nothing about its length. What looks like a JSON schema is not taken for a field's value.
"""

import os
import re
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import groupby, islice
from typing import Any

import msgspec
from msgspec import UNSET

from inspector.model.values import Number, Value


def mark(kind: str) -> str:
    """What stands in the place of a credential."""
    return f"[redacted:{kind}]"


_PREFIXED: tuple[tuple[str, str, str], ...] = (
    ("api-key", r"sk[-_]", r"[\w\-]{16,}"),
    ("api-key", r"rk_", r"(?:live|test)_\w{16,}"),
    *(("api-key", start, r"[A-Z0-9]{16}(?![A-Za-z0-9])") for start in ("AKIA", "ASIA", "ABIA", "ACCA")),
    ("api-key", r"AIza", r"[\w\-]{30,}"),
    *(
        ("api-key", f"{start}[-_]", r"[\w\-]{20,}")
        for start in ("gsk", "hf", "r8", "pplx", "tvly", "nvapi", "dtn", "xai")
    ),
    ("api-key", r"lsv2_", r"[a-z]{2}[-_][\w\-]{20,}"),
    ("api-key", r"SG\.", r"[\w\-]{16,}\.[\w\-]{16,}"),
    ("token", r"gh[pousr]_", r"[A-Za-z0-9]{20,}"),
    ("token", r"github_pat_", r"\w{20,}"),
    ("token", r"glpat-", r"[\w\-]{16,}"),
    ("token", r"npm_", r"[A-Za-z0-9]{30,}"),
    ("token", r"xox[a-z]-", r"[\w\-]{10,}"),
    ("token", r"xapp-", r"[\w\-]{10,}"),
    ("token", r"ya29\.", r"[\w\-]{20,}"),
    ("token", r"dop_v1_", r"[a-f0-9]{40,}"),
    ("token", r"pypi-", r"[\w\-]{50,}"),
    ("private-key", r"AGE-SECRET-KEY-1", r"[A-Z0-9]{40,}"),
)
"""The kind, what it begins with, and what follows."""
_PREFIX = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    + "|".join(f"(?P<s{at}>{start}{rest})" for at, (_, start, rest) in enumerate(_PREFIXED))
    + ")",
    re.ASCII,
)


def _by_letter(starts: Iterable[str]) -> str:
    """A pattern of any of them: told by the first letter it is three times as quick as one after the other."""
    letters = groupby(sorted(starts), key=lambda start: start[0])
    return "|".join(f"{letter}(?:{'|'.join(start[1:] for start in group)})" for letter, group in letters)


_SIGN = re.compile(_by_letter([*(start for _, start, _ in _PREFIXED), "eyJ"]))
"""What a run of letters has that holds a credential."""
_RUN = re.compile(r"[A-Za-z0-9_\-.]*+")
_RUN_LETTERS = string.ascii_letters + string.digits + "_-."
_LEAST_RUN = 16
# An escape ends in letters or digits, which are not part of the word behind it: `\nsk-...`, `key%3Dsk-...`, a colour.
_ESCAPE = re.compile(r"(?<=\\)(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[bfnrt])|(?<=%)[0-9A-Fa-f]{2}|(?<=[\[;])\d{0,3}m")
_JWT = re.compile(r"(?<![^.])(?:[\w\-]*-)?eyJ[\w\-]{6,}\.[\w\-]{4,}(?:\.[\w\-]*)?", re.ASCII)
_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,20}-----(?:[\s\S]*?-----END [A-Z0-9 ]{0,60}-----|[\s\S]*)"
)
_LOGIN = re.compile(r"(://[^\s/:@\"']{0,100}:)[^\s/@\"']{1,200}(@)")
_SCHEME = re.compile(r"\b(bearer|basic|digest|token)(\s{1,8})(?!\[redacted)[A-Za-z0-9._~+/=\-]{12,}", re.IGNORECASE)
_STEM = re.compile(r"passw|passphrase|pwd|secret|token|key|authorization|cookie|credential")
_STEM_ANY = re.compile(_STEM.pattern, re.IGNORECASE)
STRETCH = 64 << 10
"""Characters that are looked at in one go: some milliseconds."""
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.\-]{0,60}")
_ASSIGNED = re.compile(r"\\*[\"']?\s{0,8}[:=]\s{0,8}|\s{1,8}(?=\\*[\"'])")
_PASSED = re.compile(r"\s{1,8}(?![-\[])")
_VALUE = re.compile(r"""(?P<quote>\\*["'])(?P<quoted>[^"'\\\n]{4,})|(?P<plain>[^\s"'\\,;&<>{}()\[\]]{8,})""")
_PAUSE = re.compile(r"[\s,;\"'<>(){}+|]")
_OPEN = re.compile(
    rf"(?:{_STEM.pattern})[A-Za-z0-9_.\-]*"
    r"""(?:\\*["']?\s*(?:[:=]\s*)?(?:\\*["'][^"'\\\n]{0,3}|[^\s"'\\,;&<>{}()\[\]]{0,7}))?\Z"""
    r"|(?:bearer|basic|digest|token)\s*[A-Za-z0-9._~+/=\-]{0,11}\Z|:/?/?[^\s/@\"']*\Z|-----[A-Z0-9 ]{0,80}-{0,4}\Z",
    re.IGNORECASE,
)
"""What ends a text in which a credential may have begun that is not told from what is there of it."""
MOST_PAUSES = 32
_TELLS = re.compile(rf"{_SIGN.pattern}|(?i:{_STEM.pattern}|bearer|basic|digest)|:|-----")
"""What tells of a credential, of whatever kind."""
SURE = 4096
"""Characters without a pause, as in hexadecimal digits, after which no credential goes on if nothing tells of one."""
_NAMES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("password", re.compile(r"(?:^|_)(?:password|passwd|pwd|passphrase|passcode)$")),
    ("secret", re.compile(r"(?:^|_)(?:secret|client_secret|secret_key|secret_access_key|credentials?|secrets)$")),
    ("api-key", re.compile(r"(?:^|_)(?:api_?key|x_api_key|access_key(?:_id)?|subscription_key|apikey)$")),
    ("private-key", re.compile(r"(?:^|_)(?:private|signing|encryption)_key$")),
    ("authorization", re.compile(r"(?:^|_)(?:proxy_)?authorization$")),
    ("cookie", re.compile(r"(?:^|_)(?:set_)?cookies?$")),
    ("token", re.compile(r"(?:^|_)(?<!next_)(?<!page_)(?<!pad_)(?<!eos_)(?<!bos_)(?<!unk_)(?<!sep_)token$")),
)
_NOT_TOKENS = re.compile(r"(?:^|_)(?:next|page|pad|eos|bos|unk|sep|mask|continuation|cancellation|stop)_token$")
_SCHEMA = {"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "const", "properties"}


@cache
def declared() -> frozenset[str]:
    """Fields that somebody declared to hold credentials: RUNINSPECT_SECRETS, names with commas between them, each
    also as a JSON pointer, of which the last part counts."""
    names = os.environ.get("RUNINSPECT_SECRETS", "").split(",")
    found = (_plain_name(name.strip().rpartition("/")[2]) for name in names)
    return frozenset(name for name in found if name)


def _plain_name(name: str) -> str:
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[-60:])
    return re.sub(r"[^A-Za-z0-9]+", "_", plain).strip("_").lower()


@lru_cache(maxsize=4096)
def secret(name: str) -> str | None:
    """What kind of credential a field of that name holds, None when it holds none."""
    plain = _plain_name(name)
    if plain in declared():
        return "declared"
    if _NOT_TOKENS.search(plain):
        return None
    return next((kind for kind, pattern in _NAMES if pattern.search(plain)), None)


def redacted_text(text: str) -> str:
    """`text` with the credentials in it masked. Costs a few passes at most, whatever it holds; a long one is looked at
    in stretches, between which other threads have their turn."""
    return "".join(found for found, _ in _stretches(text, STRETCH))


def redacted_head(text: str, least: int) -> tuple[str, int]:
    """The beginning of `text` with the credentials in it masked, at least so many characters if there are as many, and
    of how many of the text it is made. Costs what it returns, and what a credential takes that reaches beyond."""
    pieces, length = [], 0
    for found, end in _stretches(text, min(least, STRETCH)):
        pieces.append(found)
        length += len(found)
        if length >= least:
            return "".join(pieces), end
    return "".join(pieces), len(text)


def _stretches(text: str, size: int) -> Iterator[tuple[str, int]]:
    """The text masked, piece by piece of about `size` characters, and the end of each in the text."""
    at = 0
    while at < len(text):
        ahead = size
        while True:
            end = _cut(text, at + ahead)
            piece = text[at:end]
            found = _stretch(piece)
            # What is masked up to the last letter may go on behind it.
            if end == len(text) or not found.endswith("]"):
                break
            ahead *= 2
        yield found, end
        at = end


def _cut(text: str, at: int) -> int:
    """A place behind `at` that no credential crosses but one that is told from what stands before it."""
    while at < len(text):
        pause = None
        for pause in islice(_PAUSE.finditer(text, at, at + STRETCH), MOST_PAUSES):
            if not _OPEN.search(text, max(pause.end() - 400, 0), pause.end()):
                return pause.end()
        at += STRETCH
        if pause is None and not _TELLS.search(text, max(at - SURE, 0), at + _LEAST_RUN):
            return min(at, len(text))
    return len(text)


def _stretch(text: str) -> str:
    if "PRIVATE KEY" in text:
        text = _BLOCK.sub(mark("private-key"), text)
    text = _runs(text)
    if "://" in text:
        text = _LOGIN.sub(lambda found: f"{found[1]}{mark('password')}{found[2]}", text)
    lower = text.lower()
    if any(scheme in lower for scheme in ("bearer", "basic", "digest", "token")):
        text = _SCHEME.sub(lambda found: f"{found[1]}{found[2]}{mark('token')}", text)
        lower = text.lower()
    return _assigned(text, lower)


def _runs(text: str) -> str:
    """Masks what has the shape of a credential in the long runs of letters that have a sign of one."""
    pieces, done = [], 0
    for sign in _SIGN.finditer(text):
        if sign.start() < done:
            continue
        begin = sign.start() - _letters_before(text, done, sign.start())
        end = _RUN.match(text, sign.start()).end()  # type: ignore[union-attr]
        if end - begin >= _LEAST_RUN:
            escape = _ESCAPE.match(text, begin, end)
            word = escape.end() if escape else begin
            pieces += [text[done:word], _masked(text[word:end])]
            done = end
    return "".join(pieces) + text[done:] if pieces else text


def _letters_before(text: str, first: int, at: int) -> int:
    """How many letters of a run stand before `at`, and not before `first`."""
    size = 64
    while True:
        part = text[max(at - size, first) : at]
        count = len(part) - len(part.rstrip(_RUN_LETTERS))
        if count < len(part) or at - size <= first:
            return count
        size *= 4


def _masked(run: str) -> str:
    if "eyJ" in run and "." in run:
        run = _JWT.sub(mark("jwt"), run)
    return _PREFIX.sub(lambda hit: mark(_PREFIXED[int((hit.lastgroup or "s0")[1:])][0]), run)


def _assigned(text: str, lower: str) -> str:
    """Masks what is assigned to a name that holds a credential: `api_key=...`, `"password": "..."`,
    `--token ...`."""
    pieces, done = [], 0
    # Lowering a text can make it longer; then the slow way is the right one.
    for stem in _STEM.finditer(lower) if len(lower) == len(text) else _STEM_ANY.finditer(text):
        if stem.start() < done:
            continue
        begin = stem.start()
        while begin > max(done, stem.start() - 40) and _is_name(text[begin - 1]):
            begin -= 1
        match = _IDENTIFIER.match(text, stem.start())
        end = match.end() if match else stem.end()
        name = text[begin:end]
        gap = _ASSIGNED.match(text, end) or (_PASSED.match(text, end) if name.startswith("--") else None)
        # The name first: a value may be long, and hold many names that are none of a credential.
        kind = secret(name) if gap else None
        value = _VALUE.match(text, gap.end()) if gap and kind else None
        if value is None or kind is None or not _hides(value["quoted"] or value["plain"]):
            continue
        pieces += [text[done : value.start()], value["quote"] or "", mark(kind)]
        done = value.end()
    return "".join(pieces) + text[done:] if pieces else text


def _is_name(letter: str) -> bool:
    return letter in "_-." or (letter.isascii() and letter.isalnum())


def _hides(value: str) -> bool:
    return not (value.startswith("[redacted") or value.isdigit() or value.lower() in _WORDS)


_WORDS = {"required", "optional", "undefined", "disabled", "enabled", "unlimited", "exceeded", "expected", "missing"}


def redacted(value: Any) -> Value:
    """A copy of a value or Struct, as plain data, with credentials masked. Costs one pass; does not recurse."""
    return plain(value, redacted_text, secret)


def plain(
    value: Any, text: Callable[[str], str] = lambda text: text, secret: Callable[[str], str | None] = lambda name: None
) -> Value:
    """A copy of a value or Struct as lists, dicts and what they hold, with `text` applied to each text, keys
    too; below a key of which `secret` tells a kind, texts and numbers are masked instead."""
    root: list[Value] = [value]
    stack: list[tuple[Any, Any, str | None]] = [(root, 0, None)]
    spelled = lru_cache(1024)(text)  # the names of fields are few
    while stack:
        holder, place, kind = stack.pop()
        item = holder[place]
        if isinstance(item, str):
            holder[place] = mark(kind) if kind and item else text(item)
        elif isinstance(item, msgspec.Struct | dict):
            fields = _fields(item) if isinstance(item, msgspec.Struct) else item
            new: Any = {spelled(name): inner for name, inner in fields.items()}
            holder[place] = new
            below = _below(fields, kind)
            named = _told(fields, secret)
            for name in fields:
                inner_kind = below or secret(name) or named.get(name)
                stack.append((new, spelled(name), inner_kind))
        elif isinstance(item, Sequence) and not isinstance(item, bytes):
            new = list(item)
            holder[place] = new
            pair = secret(new[0]) if len(new) == 2 and isinstance(new[0], str) and isinstance(new[1], str) else None
            if kind or not all(isinstance(part, int | float) for part in new):  # as lists of very many numbers
                stack += [(new, index, kind or (pair if index else None)) for index in range(len(new))]
        elif kind and isinstance(item, int | float | Number) and not isinstance(item, bool) and kind != "token":
            holder[place] = mark(kind)
    return root[0]


_TELLING = (("name", ("value",)), ("key", ("value",)), ("path", ("left", "right", "before", "after")))
"""Fields whose text is the name of what stands in others beside them."""
_ENTRIES = re.compile(r"(?:\[\d+\])+$")


def _told(fields: dict[str, Any], secret: Callable[[str], str | None]) -> dict[str, str]:
    """The kinds that a field tells of others beside it, by their names."""
    found: dict[str, str] = {}
    for teller, others in _TELLING:
        name = fields.get(teller)
        if not isinstance(name, str) or fields.keys().isdisjoint(others):
            continue
        last = _ENTRIES.sub("", name[-60:]).rpartition(".")[2] if teller == "path" else name
        if (kind := secret(last)) is not None:
            found = dict.fromkeys(others, kind) | found
    return found


def _below(fields: dict[str, Any], kind: str | None) -> str | None:
    """The kind that a field's inner fields inherit: none, when it is a schema that describes them."""
    return None if kind and _SCHEMA & fields.keys() else kind


def _fields(struct: msgspec.Struct) -> dict[str, Any]:
    """A Struct's fields by the names they are written under, as the encoder would write them."""
    config = struct.__struct_config__
    found: dict[str, Any] = {}
    if config.tag_field is not None:
        found[config.tag_field] = config.tag
    for field in _described(type(struct)):
        value = getattr(struct, field.name)
        if value is UNSET or (config.omit_defaults and _is_default(value, field)):
            continue
        found[field.encode_name] = value
    return found


@cache
def _described(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


def _is_default(value: Any, field: msgspec.structs.FieldInfo) -> bool:
    if field.default is not msgspec.NODEFAULT:
        return value is field.default or (type(value) is type(field.default) and value == field.default)
    if field.default_factory is msgspec.NODEFAULT:
        return False
    return isinstance(value, dict | list | tuple | set) and not value
