"""Conversations and tool calls inside of a checkpoint: what the agents among its executors keep."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from inspector.formats.contents import arguments_of, name_of, text_of
from inspector.formats.readers.agent_framework.checkpoint import Checkpoint, Request, fields_of
from inspector.model.run import Call, Message, Pending
from inspector.model.values import Value, preview

CALL, RESULT, APPROVAL = "function_call", "function_result", "function_approval_request"


Tell = Callable[[str], None]


def _silent(message: str) -> None:
    pass


class Chat(NamedTuple):
    """The messages of an executor's session, and the ids of calls that were approved without a question."""

    messages: list[Message]
    approved: frozenset[str]


def chats(checkpoint: Checkpoint, tell: Tell = _silent) -> Iterator[Chat]:
    """The conversation of each executor that is an agent with one; arguments that are odd are told."""
    for state in checkpoint.executors.values():
        fields = fields_of(state)
        session = fields_of(fields_of(fields.get("agent_session")).get("state"))
        told = session.get("in_memory")
        messages = fields_of(told).get("messages") if told is not None else None
        if not isinstance(messages, list):
            messages = fields.get("full_conversation") or fields.get("cache")
        if isinstance(messages, list) and messages:
            found = [message for item in messages for message in messages_of(fields_of(item), tell)]
            yield Chat(found, frozenset(_approved(fields_of(session.get("tool_approval")))))


def pending_of(request: Request, tell: Tell = _silent) -> Pending:
    """A question as pending work: the approval of a tool call, or an input."""
    fields = fields_of(request.data)
    if fields.get("type") == APPROVAL:
        call = call_of(fields_of(fields.get(CALL)), tell)
        return Pending(
            kind="tool",
            name=call.name,
            status="waiting",
            call_id=call.call_id or request.id,
            internal_call_id=request.id,
            arguments=call.arguments,
            note=f"asked by {request.executor}" if request.executor else None,
        )
    return Pending(
        kind="input",
        name=request.executor or request.id,
        status="waiting",
        call_id=request.id,
        arguments=request.data,
        note="waits for an answer",
    )


def open_calls(chat: Chat, asked: set[str]) -> list[Pending]:
    """The calls of the last batch that have no result and nobody is asked about."""
    last = max((at for at, message in enumerate(chat.messages) if message.calls), default=None)
    if last is None:
        return []
    answered = {message.call_id for message in chat.messages[last + 1 :]}
    return [
        Pending(
            kind="tool",
            name=call.name,
            status="approved" if call.call_id in chat.approved else "ready",
            call_id=call.call_id,
            internal_call_id=call.internal_call_id,
            arguments=call.arguments,
        )
        for call in chat.messages[last].calls or ()
        if call.call_id not in answered and call.call_id not in asked
    ]


def messages_of(fields: dict[str, Value], tell: Tell = _silent) -> Iterator[Message]:
    """A stored message as messages: one, and one per tool result in it."""
    role = fields.get("role")
    role = role if isinstance(role, str) else text_of(fields_of(role).get("value")) or "?"
    contents = fields.get("contents")
    texts: list[str] = []
    calls: list[Call] = []
    results: list[Message] = []
    for item in contents if isinstance(contents, list) else ():
        content = fields_of(item)
        kind = content.get("type")
        if kind == CALL:
            calls.append(call_of(content, tell))
        elif kind == RESULT:
            call_id = name_of(content.get("call_id"))
            results.append(Message(role="tool", text=text_of(content.get("result")), call_id=call_id))
        elif kind == "text":
            texts.append(text_of(content.get("text")))
        elif kind != APPROVAL:
            texts.append(f"[{preview(kind if kind is not None else item, 60)}]")
    if texts or calls or not results:
        yield Message(role=role, text="\n".join(texts) if texts else None, calls=tuple(calls) or None)
    yield from results


def call_of(content: dict[str, Value], tell: Tell = _silent) -> Call:
    """A function call."""
    name, call_id = name_of(content.get("name")) or "?", name_of(content.get("call_id"))
    return Call(
        name=name,
        call_id=call_id,
        internal_call_id=name_of(content.get("id")),
        arguments=arguments_of(content.get("arguments"), lambda message: tell(f"call {call_id or name}: {message}")),
    )


def _approved(fields: dict[str, Value]) -> Iterator[str]:
    groups = fields.get("already_approved_approval_request_groups")
    for group in groups if isinstance(groups, list) else ():
        requests = fields_of(group).get("approval_requests")
        for request in requests if isinstance(requests, list) else ():
            call_id = fields_of(fields_of(request).get(CALL)).get("call_id")
            if isinstance(call_id, str):
                yield call_id
