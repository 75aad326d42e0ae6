"""The run definition of vv-agent: tools, hooks, model, and the digest that binds a record to it."""

import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec

from inspector.formats.readers.vv_agent.columns import Row
from inspector.formats.readers.vv_agent.shapes import mapping, sequence, text
from inspector.model.digest import digest, text_digest
from inspector.model.run import Definition, Hook, Tool
from inspector.model.values import Value

CHECKED = 1 << 18
"""Bytes of an outbox up to which the digests of its events are checked, which is slow."""
_HOOKS = ("runtime_hook", "after_cycle_hook", "input_guardrail", "output_guardrail")


def definition(found: dict[str, Any], recorded: str | None) -> Definition:
    """The definition of a checkpoint row. Hooks are known by id and version only, in their order."""
    model = mapping(found.get("model"))
    tools = found.get("tools")
    refs = found.get("capability_refs")
    return Definition(
        tools=tuple(_tools(tools)) if isinstance(tools, list) else None,
        tools_known="registry" if isinstance(tools, list) else "none",
        hooks=tuple(_hooks(refs)) if isinstance(refs, dict) else None,
        model=text(model.get("model_id")),
        digest=recorded,
    )


def session_definition(found: dict[str, Any], recorded: str | None) -> Definition:
    """The definition of a turn of the session log: its tools stand apart from what they may do."""
    capabilities = mapping(found.get("capabilities"))
    tools = found.get("tools")
    return Definition(
        tools=tuple(
            tool(item, mapping(capabilities.get(text(_function(item).get("name")) or ""))) for item in sequence(tools)
        )
        if isinstance(tools, list)
        else None,
        tools_known="registry" if isinstance(tools, list) else "none",
        model=text(mapping(found.get("model_binding")).get("model")) or text(mapping(found.get("task")).get("model")),
        digest=recorded,
    )


def tool(schema: Value, metadata: dict[str, Any], approval: Value = None) -> Tool:
    """A tool by the schema that the model is given, with what is recorded of its effects."""
    function = _function(schema)
    name, description, parameters = (
        text(function.get("name")) or "?",
        function.get("description"),
        function.get("parameters"),
    )
    shown = description if isinstance(description, str) else None
    idempotency = metadata.get("idempotency")
    required = mapping(approval).get("required")
    return Tool(
        name=name,
        description=shown,
        schema=parameters,
        digest=_digest({"name": name, "description": shown, "schema": parameters}),
        idempotency=idempotency if idempotency in ("supported", "unsupported", "unknown") else None,
        needs_approval=required if isinstance(required, bool) else None,
    )


def verify(row: Row, column: str, recorded: str | None) -> None:
    """Checks that the definition that stands in a column is the one that was recorded; a problem says what
    is wrong."""
    raw = row.raw(column)
    if raw is not None and recorded is not None and column not in row.damaged:
        _compare(row, row.where(column), raw, recorded)


class _Recorded(msgspec.Struct):
    event: msgspec.Raw
    payload_digest: str


def verify_events(row: Row, column: str) -> None:
    """The same for the events of an outbox, each with a digest of its own, as long as they are few."""
    raw = row.raw(column)
    if raw is None or len(raw) > CHECKED:
        return
    with contextlib.suppress(msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        for number, entry in enumerate(msgspec.json.decode(raw, type=list[_Recorded])):
            _compare(row, f"{row.where(column)}[{number}].event", bytes(entry.event), entry.payload_digest)


def _compare(row: Row, where: str, raw: bytes, recorded: str) -> None:
    try:
        found = text_digest(raw)
    except ValueError as error:
        row.note(where, f"its digest cannot be checked: {error}")
        return
    if found != recorded:
        row.note(where, f"is not what was recorded: its digest is {found}, recorded is {recorded}", "error")


def prompt(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages that a run begins with, as its definition tells them."""
    sections = sequence(mapping(found.get("prompt_bundle")).get("sections"))
    words = [part for section in sections if (part := text(mapping(section).get("text")))]
    system = [{"role": "system", "content": "\n\n".join(words)}] if words else []
    asked = text(found.get("root_input"))
    return [*system, *sequence(found.get("initial_messages")), *([{"role": "user", "content": asked}] if asked else [])]


def _tools(tools: list[Any]) -> Iterator[Tool]:
    for item in tools:
        fields = mapping(item)
        yield tool(fields.get("schema"), mapping(fields.get("tool_metadata")), fields.get("approval"))


def _function(schema: Value) -> dict[str, Any]:
    fields = mapping(schema)
    return mapping(fields.get("function")) or fields


def _hooks(refs: dict[str, Any]) -> Iterator[Hook]:
    found = []
    for slot, ref in refs.items():
        event, _, number = slot.partition(":")
        if event in _HOOKS:
            fields = mapping(ref)
            name = f"{text(fields.get('id')) or '?'}@{text(fields.get('version')) or '?'}"
            found.append(
                (
                    _HOOKS.index(event),
                    int(number) if number.isdecimal() and len(number) < 10 else 0,
                    Hook(event=event, name=name),
                )
            )
    for _, _, hook in sorted(found, key=lambda item: item[:2]):
        yield hook


def _digest(value: Value) -> str | None:
    try:
        return digest(value)
    except ValueError:
        return None
