"""The structured answer: through an output tool that never runs, or as a text that is JSON.

Only the top level's `required` is looked at here: whether the value is of the type that the program
wants is for the agent to say.
"""

import json

from inspector.model.values import Value, decimal, integer, to_json
from inspector.runner.batch import refusal
from inspector.runner.data import Finished, Held, Preparing, RunData
from inspector.runner.messages import Call, Message, Text

NAME = "final_result"
AGAIN = "The answer lacks {missing}. Answer again, with all that is required."
NO_JSON = "The answer is not a JSON object of the schema that was asked for. Answer again."

_decoder = json.JSONDecoder(parse_float=decimal, parse_int=integer)


def choose_name(taken: set[str]) -> str:
    """A name for the output tool that no tool of the registry has."""
    name, number = NAME, 0
    while name in taken:
        number += 1
        name = f"{NAME}_{number}"
    return name


def by_tool(data: RunData, held: Held, call: Call) -> None:
    """The model called the output tool: the run is over, or it is asked for what is missing. Calls beside
    it are dropped, and the saved turn holds no call."""
    missing = _missing(data, call.arguments)
    if missing and _may_ask_again(data):
        data.output.retries += 1
        data.messages += [
            Message("assistant", held.parts, held.message_id),
            Message(
                "user",
                tuple(
                    refusal(
                        part, AGAIN.format(missing=", ".join(missing)) if part is call else "Not executed.", "skipped"
                    )
                    for part in held.parts
                    if isinstance(part, Call)
                ),
            ),
        ]
        data.phase = Preparing()
        return
    words = to_json(call.arguments)
    parts = (*(part for part in held.parts if not isinstance(part, Call)), Text(words))
    data.messages.append(Message("assistant", parts, held.message_id))
    data.phase = Finished(words, call.arguments, parts)


def by_text(data: RunData, held: Held, answer: str) -> None:
    """The model answered with a text where an object is wanted."""
    try:
        value = _decoder.decode(answer)
    except (ValueError, RecursionError):
        value = None
    missing = _missing(data, value)
    if missing and _may_ask_again(data):
        data.output.retries += 1
        what = NO_JSON if not isinstance(value, dict) else AGAIN.format(missing=", ".join(missing))
        data.messages.append(Message.user(what))
        data.phase = Preparing()
        return
    data.phase = Finished(answer, value, held.parts)


def _may_ask_again(data: RunData) -> bool:
    return data.output.retries < data.output.max_retries and data.turn < data.max_turns


def _missing(data: RunData, value: Value) -> list[str]:
    schema = data.output.schema
    required = schema.get("required", []) if isinstance(schema, dict) else []
    if not isinstance(value, dict):
        return [str(name) for name in required] or ["a JSON object"]
    return [str(name) for name in required if name not in value]
