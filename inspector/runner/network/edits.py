"""Tokens, actors' states and values of the context that somebody changes before a saved network goes on."""

from collections.abc import Mapping

from inspector.dataflow import types
from inspector.dataflow.codec import Unreadable, Unsavable
from inspector.dataflow.machine import NetworkRun
from inspector.model.places import Place, named, queue_name
from inspector.model.values import Value
from inspector.runner.edits import Edited, place_of, refused
from inspector.runner.network.bodies import checked

TAG = "$type"
PLAIN = (None, "number", "text")
"""Tags of what any JSON number or text may be saved as."""


def edited(run: NetworkRun, edits: Mapping[str, Value]) -> list[Edited]:
    """Change saved values of a run, in the run itself. A token must be what its reader takes, and a tagged value keeps
    its tag and class. Raises ResumeRefused."""
    return [_edit(run, path, after) for path, after in edits.items()]


def _edit(run: NetworkRun, path: str, after: Value) -> Edited:
    place = place_of(path)
    if place.part == "queues":
        return _token(run, place, path, after)
    if place.part == "actors":
        return _field(run, place, path, after)
    if place.part == "values":
        name = place.name or ""
        if name not in run.context:
            raise refused(path, f"there is no such value; there are {', '.join(run.context) or 'none'}")
        before = run.context[name]
        run.context[name] = kept = _kept(run, path, before, after)[1]
        return Edited(path=path, before=before, after=kept)
    raise refused(
        path,
        "a network has no messages and calls of its own: its tokens, states and values can be edited. "
        "Messages of an agent in the middle of its firing cannot; arguments of its open calls can: --arguments",
    )


def _token(run: NetworkRun, place: Place, path: str, after: Value) -> Edited:
    queues = list(named(run.state().queues or (), queue_name))
    if place.name not in queues:
        raise refused(path, f"there is no such queue; there are {', '.join(queues)}")
    number, index = queues.index(place.name), place.at or 0
    tokens, link = run.queues[number], run.plan.links[number]
    if index >= len(tokens):
        raise refused(path, f"the queue holds {len(tokens)} tokens at this step, numbered from 0")
    if link.target is not None and link.target in run.held and index == 0:
        node = run.plan.nodes[link.target].name
        raise refused(path, f"{node} is in the middle of its firing, and has read the token already")
    before = tokens[index]
    value, kept = _kept(run, path, before, after)
    try:
        checked(link, value)
    except TypeError as error:
        raise refused(path, str(error)) from error
    tokens[index] = kept
    if link.target is not None:
        run.reopen(link.target)
    return Edited(path=path, before=before, after=kept)


def _field(run: NetworkRun, place: Place, path: str, after: Value) -> Edited:
    numbers = {node.name: number for number, node in enumerate(run.plan.nodes)}
    name, field = place.name or "", place.field or ""
    if name not in numbers:
        raise refused(path, f"there is no such actor; there are {', '.join(numbers)}")
    number = numbers[name]
    state, actor = (run.state().actors or ())[number].state, run.plan.nodes[number].actor
    if actor is None or field not in actor.state or field not in state:
        fields = ", ".join(actor.state) if actor is not None else ""
        raise refused(path, f"is no field of its state; it has {fields or 'none'}")
    before = state[field]
    value, kept = _kept(run, path, before, after)
    hint = types.hint_of(actor.factory, field)
    if not types.fits(value, hint):
        raise refused(path, f"{name}.{field} is {types.name(hint)}, not {type(value).__qualname__}: {value!r:.80}")
    run.set_state(number, field, kept)
    run.reopen(number)
    return Edited(path=path, before=before, after=kept)


def _kept(run: NetworkRun, path: str, before: Value, after: Value) -> tuple[object, Value]:
    """(the new value as an object, as it is saved). Raises ResumeRefused for one of another kind."""
    try:
        wanted, given = _kind(run.values.whole(before)), _kind(after)
        if wanted != given:
            raise refused(path, f"the value is {wanted or 'plain JSON'}, and this is {given or 'plain JSON'}")
        value = run.values.decode(after)
        return value, run.values.keep(value, path)
    except (Unreadable, Unsavable) as error:
        raise refused(path, f"today's code cannot read it: {error}") from error


def _kind(value: Value) -> str:
    """What a value is tagged as, with its class; empty for plain JSON."""
    if not isinstance(value, dict) or value.get(TAG) in PLAIN:
        return ""
    named_as = value.get("class", value.get("name") if value[TAG] == "codec" else None)
    return f"{value[TAG]} {named_as}" if named_as is not None else f"a {value[TAG]}"
