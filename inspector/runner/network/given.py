"""Results that somebody gives for firings that may have happened, in place of their bodies."""

from collections.abc import Mapping

from inspector.dataflow.codec import Unreadable
from inspector.dataflow.firing import Firing
from inspector.dataflow.machine import NetworkRun
from inspector.model.values import Value
from inspector.runner.errors import ResumeRefused
from inspector.runner.network.bodies import checked


def examine(run: NetworkRun, reconciled: Mapping[str, tuple[str, Value]]) -> None:
    """Raises ResumeRefused for a result that cannot be one of its firing."""
    results = {firing: value for firing, (how, value) in reconciled.items() if how == "result"}
    for firing in run.ready() if results else ():
        if firing.id in results and firing.node.kind != "agent":
            tokens_of(run, firing, results[firing.id])


def tokens_of(run: NetworkRun, firing: Firing, value: Value) -> list[tuple[str, Value]]:
    """The saved tokens that a firing has put, as somebody says: an object of them by port, or the only one. Raises
    ResumeRefused for what does not fit the ports, and for a token that its readers do not take."""
    actor = firing.node.actor
    outputs = actor.outputs if actor else ()
    if isinstance(value, dict) and value and set(value) <= set(outputs):
        puts = list(value.items())
    elif len(outputs) == 1:
        puts = [(outputs[0], value)]
    elif value is None:
        puts = []
    else:
        detail = f"the result must be an object of the ports {', '.join(outputs)}"
        raise ResumeRefused(firing.id, "arguments_invalid", detail)
    for port, token in puts:
        for queue in firing.node.writes.get(port, ()):
            try:
                checked(run.plan.links[queue], run.values.decode(token))
            except (TypeError, Unreadable) as error:
                raise ResumeRefused(firing.id, "arguments_invalid", f"the result does not fit: {error}") from error
    return puts
