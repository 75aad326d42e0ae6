"""What a plan owes to who decides about it on the screen."""

import msgspec

from inspector.resume.plan import Need, Plan
from inspector.runner.preflight import MODEL as MODEL


def owing(plan: Plan) -> Plan:
    """The plan as it is decided about here: what became of a model call without its answer is owed, as that of a
    tool call is. To send it again, which a refusal asks to be accepted, is one of the answers."""
    if plan.driver != "agent" or not (sent := [item for item in plan.refusals if item.code == "model_in_flight"]):
        return plan
    needs = [Need(call_id=MODEL, name=item.subject, question="reconcile", detail=item.detail) for item in sent]
    return msgspec.structs.replace(
        plan,
        needs=(*plan.needs, *needs),
        runs_again=tuple(item for item in plan.runs_again if item.kind != "model"),
        refusals=tuple(item for item in plan.refusals if item not in sent),
    )


def called(need: Need) -> str:
    """The name of what is decided about, and its id where that is another one."""
    return need.name if need.name == need.call_id else f"{need.name} {need.call_id}"
