"""Names in a file as data: value types by what they are, code told apart from classes."""

import pytest

from inspector.formats.symbols import called, called_with, class_of, names_code, thing
from inspector.model.values import Value


@pytest.mark.parametrize(
    ("module", "name", "argument", "value"),
    [
        ("builtins", "set", [1, 2], {"$type": "set", "items": [1, 2]}),
        ("builtins", "frozenset", [], {"$type": "frozenset", "items": []}),
        ("collections", "deque", ["a"], {"$type": "deque", "items": ["a"]}),
        ("decimal", "Decimal", "1.10", {"$type": "decimal", "text": "1.10"}),
        ("uuid", "UUID", "0" * 31 + "7", {"$type": "uuid", "text": "00000000-0000-0000-0000-000000000007"}),
        ("ipaddress", "IPv4Address", "10.0.0.1", {"$type": "ip", "text": "10.0.0.1"}),
        ("zoneinfo", "ZoneInfo", "Europe/Rome", {"$type": "zone", "text": "Europe/Rome"}),
        ("datetime", "datetime", "2026-11-01T12:00:00", {"$type": "datetime", "iso": "2026-11-01T12:00:00"}),
    ],
)
def test_value_types_of_one_argument(module: str, name: str, argument: Value, value: Value) -> None:
    assert called(module, name, argument) == value
    assert called_with(module, name, [argument]) == value


@pytest.mark.parametrize(
    ("module", "name", "arguments", "value"),
    [
        ("pathlib", "PosixPath", ["/", "tmp", "x"], {"$type": "path", "path": "/tmp/x"}),
        ("pathlib._local", "WindowsPath", ["C:\\", "x"], {"$type": "path", "path": "C:\\x"}),
        ("datetime", "date", [2026, 1, 2], {"$type": "date", "iso": "2026-01-02"}),
        ("datetime", "timedelta", [0, 5, 1], {"$type": "timedelta", "days": 0, "seconds": 5, "microseconds": 1}),
        ("re", "compile", ["a+", 32], {"$type": "pattern", "text": "a+", "flags": 32}),
        (
            "datetime",
            "time",
            {"hour": 9, "minute": 5, "second": 0, "microsecond": 7, "tzinfo": None, "fold": 0},
            {"$type": "time", "iso": "09:05:00.000007"},
        ),
    ],
)
def test_value_types_of_several_arguments(module: str, name: str, arguments: Value, value: Value) -> None:
    assert called_with(module, name, arguments) == value


@pytest.mark.parametrize(
    ("module", "name", "arguments"),
    [
        ("uuid", "UUID", "no uuid"),
        ("uuid", "UUID", None),
        ("builtins", "set", "text"),
        ("datetime", "date", [1, 2]),
        ("datetime", "date", "x"),
        ("datetime", "time", {}),
        ("pathlib", "Path", [1]),
        ("pathlib", "Path", None),
        ("re", "compile", []),
        ("decimal", "Decimal", {"a": 1}),
        ("datetime", "datetime", "yesterday"),
    ],
)
def test_what_does_not_fit_stays_an_object(module: str, name: str, arguments: Value) -> None:
    for made in (called(module, name, arguments), called_with(module, name, arguments)):
        assert made == {"$type": "object", "class": f"{module}:{name}", "state": arguments}
        assert class_of(made) == f"{module}:{name}"


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("posix", "system"),
        ("subprocess", "Popen"),
        ("builtins", "eval"),
        ("app.tools", "delete_everything"),
        ("app", "Model.load"),
        ("app", ""),
        ("", ""),
    ],
)
def test_code_is_told(module: str, name: str) -> None:
    assert names_code(module, name)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        *(("app", "Order"), ("app.models", "Outer.Inner"), ("builtins", "set"), ("app", "_Private")),
        *(("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")),
    ],
)
def test_classes_of_values_are_no_code(module: str, name: str) -> None:
    assert not names_code(module, name)


def test_class_of_anything() -> None:
    assert class_of(thing("a", "B", 1)) == "a:B"
    assert [class_of(value) for value in (None, [], {"class": "x"}, {"$type": "object", "class": 3})] == [""] * 4
