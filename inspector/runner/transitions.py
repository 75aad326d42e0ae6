"""Which event an agent run takes in which phase, and where it may lead: the whole table.

preparing  a model call is due             begin, then turn
awaiting   it is under way                 turn, or rollback
resolving  a call was not on offer         resolve
advancing  the turn is accepted            heard, then next takes it over (or retry)
executing  its calls are open              start and answer, each call by itself; next commits them
finished, failed                           the end; a spent budget can be raised with configure
"""

from inspector.runner.data import Phase

_HERE: dict[str, set[str]] = {name: {name} for name in ("preparing", "awaiting", "resolving", "advancing", "executing")}

TRANSITIONS: dict[str, dict[str, set[str]]] = {
    "next": {
        "preparing": {"preparing", "failed"},
        "resolving": {"resolving"},
        "advancing": {"advancing", "executing", "preparing", "finished", "failed"},
        "executing": {"executing", "preparing", "failed"},
        "finished": {"finished"},
        "failed": {"failed"},
    },
    "announce": {"preparing": {"preparing"}},
    "begin": {"preparing": {"awaiting"}},
    "record": {"awaiting": {"awaiting"}},
    "rollback": {"awaiting": {"preparing"}},
    "turn": {"preparing": {"resolving", "advancing"}, "awaiting": {"resolving", "advancing"}},
    "resolve": {"resolving": {"resolving", "advancing", "preparing", "failed"}},
    "heard": {"advancing": {"advancing"}},
    "retry": {"advancing": {"preparing", "failed"}},
    **{verb: {"executing": {"executing"}} for verb in ("hold", "start", "answer", "approve", "deny", "edit", "again")},
    "steer": _HERE,
    "stop": {phase: {"failed"} for phase in _HERE},
    "fail": {phase: {"failed"} for phase in _HERE},
    "configure": {**_HERE, "failed": {"failed", "preparing"}},
    "scratch": {**_HERE, "finished": {"finished"}, "failed": {"failed"}},
    "remembered": {"finished": {"finished"}},
}
"""Event (or `next`) → phase that allows it → phases it may lead to."""


def phase_name(phase: Phase) -> str:
    """The name of a phase, as in its JSON."""
    return str(phase.__struct_config__.tag)
