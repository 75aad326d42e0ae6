import json
import time
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.model import redact
from inspector.model.changes import Change
from inspector.model.records import Operation, StepRecord
from inspector.model.redact import plain, redacted, redacted_head, redacted_text, secret
from inspector.model.run import Queue, Step
from inspector.model.values import Number, to_json
from tests.fuzz import TIMES

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123"


@pytest.mark.parametrize(
    "secret_text",
    [
        "sk-abcdefghijklmnopqrstuvwx",
        "sk-ant-api03-abcdefghijklmnop-qrstuv",
        "sk-proj-ABCDEFGHijklmnop1234",
        "sk_live_abcdefghijklmnop",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "github_pat_11ABCDEFG0abcdefghijkl",
        "glpat-abcdefghijklmnopqrst",
        "xoxb-1234567890-abcdefghij",
        "hf_abcdefghijklmnopqrstuvwx",
        "gsk_abcdefghijklmnopqrstuvwx",
        "dtn_abcdefghijklmnopqrstuvwx",
        "ya29.a0abcdefghijklmnopqrst",
        JWT,
    ],
)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "key {} in a line",
        'export X="{}"',
        "https://x/?a={}&b=1",
        '{{\\"a\\":\\"{}\\"}}',
        "a\\n{}",
        "k\\u003d{}",
        "k%3D{}",
        "\x1b[1;31m{}\x1b[0m",
    ],
)
def test_shapes_of_credentials(secret_text: str, around: str) -> None:
    found = redacted_text(around.format(secret_text))
    assert secret_text[8:] not in found
    assert "[redacted:" in found
    before, _, after = around.format("|").partition("|")
    assert found.startswith(before)
    assert found.endswith(after)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Authorization: Bearer abcdefghijklmnop.qrst", "Authorization: Bearer [redacted:token]"),
        ("authorization=Basic Zm9vOmJhcmJheg==", "authorization=Basic [redacted:token]"),
        ("postgres://me:hunter2@db/x", "postgres://me:[redacted:password]@db/x"),
        ("password=hunter22 and more", "password=[redacted:password] and more"),
        ("--token s3cr3tt0ken --verbose", "--token [redacted:token] --verbose"),
        ("--password 'hunter2'", "--password '[redacted:password]'"),
        ('{"api_key": "abc1", "n": 1}', '{"api_key": "[redacted:api-key]", "n": 1}'),
        ('{\\"password\\":\\"hunter2\\"}', '{\\"password\\":\\"[redacted:password]\\"}'),
        ("X-API-Key: 0123456789abcdef", "X-API-Key: [redacted:api-key]"),
        ("AWS_SECRET_ACCESS_KEY=abcdefgh12345678", "AWS_SECRET_ACCESS_KEY=[redacted:secret]"),
        ("İ api_key=abcdefgh12", "İ api_key=[redacted:api-key]"),
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nb",
            "a\n[redacted:private-key]\nb",
        ),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz", "[redacted:private-key]"),
    ],
)
def test_credentials_by_their_names(text: str, expected: str) -> None:
    assert redacted_text(text) == expected
    assert redacted_text(expected) == expected, "a mask is masked no further"


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens: 4096",
        "the token is required",
        "tokens per second: 12345678",
        "risk-assessment-of-the-year-2024-report",
        "task-1234567890123456789",
        "sk-learn is a library",
        "task_id=abcdefgh12345678",
        "next_token=abcdefgh12345678",
        "token: 12345678",
        "https://example.org:8080/a@b",
        "key: value, primary key: id",
        "5b8aa5a2d2c872e8321cf37308d69df2",
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    assert redacted_text(text) == text


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("password", "password"),
        ("dbPassword", "password"),
        ("X-Api-Key", "api-key"),
        ("apiKey", "api-key"),
        ("http.request.header.authorization", "authorization"),
        ("access_token", "token"),
        ("client-secret", "secret"),
        ("Set-Cookie", "cookie"),
        ("SSH_PRIVATE_KEY", "private-key"),
        ("input_tokens", None),
        ("nextToken", None),
        ("eos_token", None),
        ("secretary", None),
        ("key", None),
        ("idempotency_key", None),
        ("tokens", None),
    ],
)
def test_names(name: str, kind: str | None) -> None:
    assert secret(name) == kind


def test_fields_of_all_sorts() -> None:
    value = {
        "headers": [["Authorization", "xyz"], {"name": "X-Api-Key", "value": "zzz"}, {"key": "cookie", "value": "a=b"}],
        "usage": {"input_tokens": 5, "token": 7},
        "password": 1234,
        "cookies": {"a": "b", "n": [1, "c"]},
        "none": {"secret": None, "password": "", "token": True},
        "sk-abcdefghijklmnopqrstuvwx": "a key too",
    }
    assert redacted(value) == {
        "headers": [
            ["Authorization", "[redacted:authorization]"],
            {"name": "X-Api-Key", "value": "[redacted:api-key]"},
            {"key": "cookie", "value": "[redacted:cookie]"},
        ],
        "usage": {"input_tokens": 5, "token": 7},
        "password": "[redacted:password]",
        "cookies": {"a": "[redacted:cookie]", "n": ["[redacted:cookie]", "[redacted:cookie]"]},
        "none": {"secret": None, "password": "", "token": True},
        "[redacted:api-key]": "a key too",
    }


@pytest.mark.parametrize("path", ["password", "values.password", "messages[0].arguments.password", "password[2]"])
def test_both_sides_of_a_difference_are_those_of_its_place(path: str) -> None:
    sides = {"left": "hunter2", "right": "swordfish9"}
    assert redacted({"path": path, **sides}) == {
        "path": path,
        "left": "[redacted:password]",
        "right": "[redacted:password]",
    }
    assert redacted({"path": f"{path}.length", **sides}) == {"path": f"{path}.length", **sides}


def test_a_schema_is_no_credential() -> None:
    schema = {"type": "object", "properties": {"password": {"type": "string", "description": "the user's"}}}
    assert redacted({"schema": schema}) == {"schema": schema}


def test_the_original_stays() -> None:
    value = {"a": ["sk-abcdefghijklmnopqrstuvwx"], "password": "p"}
    copy = json.loads(json.dumps(value))
    redacted(value)
    assert value == copy


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.just(Number("1.50")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
@settings(max_examples=100 * TIMES, deadline=None)
def test_a_plain_copy_is_the_same_value(value: Any) -> None:
    assert plain(value) == value


@given(VALUES, st.text(max_size=4), st.none() | st.integers(0, 3))
@settings(max_examples=100 * TIMES, deadline=None)
def test_a_plain_copy_of_a_record_is_what_is_written(value: Any, name: str, size: int | None) -> None:
    change = Change(values={name: value}, pending=None if size else ())
    queue = Queue(id=name, contents="complete", size=size, tokens=[value])
    record = StepRecord(step=Step(seq=1, kind="node", name=name, status="done"), change=change)
    for struct in (
        record,
        Change(queues=(queue,)),
        Operation(id=name, seq=1, kind="tool", name=name, status="planned"),
    ):
        assert to_json(plain(struct)) == to_json(struct)
        assert isinstance(msgspec.json.decode(to_json(redacted(struct))), dict)


@given(st.text(alphabet="tokensecrtkeyJ.-_=:/@\"'\\ [A1", max_size=60))
@settings(max_examples=300 * TIMES, deadline=None)
def test_masking_twice_is_masking_once(text: str) -> None:
    once = redacted_text(text)
    assert redacted_text(once) == once


PIECES = st.sampled_from(
    [
        "sk-abcdefghijklmnopqrstuvwx",
        "AKIAABCDEFGHIJKLMNOP",
        "eyJabcdefgh.abcdefgh.abc",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "token",
        "api_key",
        "pass",
        "password",
        "secret",
        "cookie: ",
        "Bearer",
        "basic ",
        "://user:",
        "@",
        "abcdefghijklmnop",
        "required",
        "12345678",
        "[redacted:token]",
        "\\n",
        "%3D",
        "\x1b[31m",
        "--",
        *list("=: \n\"'\\,;{}()<>+/|&[]_-.xİ"),
    ]
)


@given(st.lists(PIECES, max_size=60).map("".join), st.integers(1, 200))
@settings(max_examples=500 * TIMES, deadline=None)
def test_a_text_looked_at_in_stretches_is_masked_as_in_one_go(text: str, stretch: int) -> None:
    whole = redacted_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redact, "STRETCH", stretch)
        assert redacted_text(text) == whole


@given(st.lists(PIECES, max_size=60).map("".join), st.integers(1, 200))
@settings(max_examples=500 * TIMES, deadline=None)
def test_the_head_of_a_text_is_masked_as_in_the_whole(text: str, least: int) -> None:
    head, taken = redacted_head(text, least)
    assert head + redacted_text(text[taken:]) == redacted_text(text)
    assert len(head) >= least or taken == len(text)


def test_the_head_of_a_long_text_costs_what_it_returns() -> None:
    head, taken = redacted_head("some words " * 1_000_000 + "sk-abcdefghijklmnopqrstuvwx", 500)
    assert len(head) == taken < 1000


@pytest.mark.parametrize("pair", ["0f", "日本"])
def test_so_does_that_of_one_without_a_pause(pair: str) -> None:
    letters = pair * 500_000
    head, taken = redacted_head(letters, 500)
    assert len(head) == taken < 100_000
    held = f"{letters}-sk-abcdefghijklmnopqrstuvwx"
    assert redacted_text(held) == f"{letters}-[redacted:api-key]"
    behind = redact.STRETCH - 10
    assert "opqrst" not in redacted_text(f"{letters[:behind]}-sk-abcdefghijklmnopqrstuvwx{letters}")


@pytest.mark.parametrize("piece", ["a-", "token=", "eyJ", "eyJaaaaaa.", "--", "sk-", "://", "bearer ", "token  ", "1_"])
def test_no_text_is_slow(piece: str) -> None:
    redacted_text(piece * (200_000 // len(piece)))


def test_depth_is_no_matter() -> None:
    value: Any = "sk-abcdefghijklmnopqrstuvwx"
    for _ in range(100_000):
        value = [value]
    found = redacted(value)
    while isinstance(found, list):
        found = found[0]
    assert found == "[redacted:api-key]"


@pytest.mark.parametrize(
    "part", ["key=", 'key="', "api_key=12345 ", "token:", "cookie", "-----BEGIN PRIVATE KEY-----\n"]
)
def test_many_names_in_one_text_take_one_pass(part: str) -> None:
    begun = time.process_time()
    redacted_text(part * (400_000 // len(part)))
    assert time.process_time() - begun < 3
