"""Which span of a tool answers which call of a message: some libraries give a span no id of its call."""

from collections.abc import Callable, Hashable, Sequence

from inspector.formats.readers.opentelemetry import genai
from inspector.formats.readers.opentelemetry.span import Span
from inspector.model.run import Call
from inspector.model.values import Value, to_json


def answering(calls: Sequence[Call], ran: Sequence[Span]) -> list[Span | None]:
    """For each call the span that it is answered by, None where there is none: the first one of its id; where one of
    the two has no id, of its name and arguments, or else of its name. A span answers one call, so one id used twice
    keeps two calls apart."""
    pairs = _Pairs(calls, ran)
    pairs.find(genai.call_id, lambda call: call.call_id)
    for of_span, of_call in ((_asked_by, _asking), (genai.tool_name, lambda call: call.name)):
        pairs.find(lambda span, key=of_span: None if genai.call_id(span) else key(span), of_call)  # type: ignore[misc]
        pairs.find(of_span, lambda call, key=of_call: None if call.call_id else key(call))  # type: ignore[misc]
    return pairs.found


class _Pairs:
    def __init__(self, calls: Sequence[Call], ran: Sequence[Span]) -> None:
        self.calls, self.found = calls, list[Span | None]([None] * len(calls))
        self._free = dict(enumerate(ran))

    def find(self, of_span: Callable[[Span], Hashable], of_call: Callable[[Call], Hashable]) -> None:
        """Pair the calls and spans that are left and have the same key, in their order; None is no key."""
        places: dict[Hashable, list[int]] = {}
        for place, span in reversed(self._free.items()) if None in self.found else ():
            places.setdefault(of_span(span), []).append(place)
        places.pop(None, None)
        for at, call in enumerate(self.calls) if places else ():
            if self.found[at] is None and (same := places.get(of_call(call))):
                self.found[at] = self._free.pop(same.pop())


def _asked_by(span: Span) -> Hashable:
    asked = genai.attribute(span, genai.ARGUMENTS)
    return None if asked is None else _key(genai.tool_name(span), asked)


def _asking(call: Call) -> Hashable:
    return _key(call.name, call.arguments)


def _key(name: str | None, arguments: Value) -> Hashable:
    return name, to_json(dict(sorted(arguments.items())) if isinstance(arguments, dict) else arguments)
