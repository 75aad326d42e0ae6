"""Makes rig-pending.json (`python examples/make_rig.py`): a run as rig 0.42 saves it, stopped inside a batch of
three tool calls.

A gardening agent has looked at the forecast. Now it asks for a soil reading, for water, and for a pump to
be switched on; somebody has answered the last of the three with a refusal, and the others wait to run.
The conversation, the tools and the numbers are made up; the layout is that of rig's serialized runs.
"""

import json
from pathlib import Path
from typing import Any

TARGET = Path(__file__).with_name("rig-pending.json")


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "id": call_id,
        "provider": {"call_id": call_id},
        "function": function,
        "signature": None,
        "additional_params": None,
    }


def result(of: dict[str, Any], words: str) -> dict[str, Any]:
    name = of["function"]["name"]
    return {"type": "toolresult", "call": of["id"], "provider": of["provider"], "name": name, "content": [text(words)]}


def usage(spent: int, made: int) -> dict[str, int]:
    return {
        "input_tokens": spent,
        "output_tokens": made,
        "total_tokens": spent + made,
        "cached_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "tool_use_prompt_tokens": 0,
        "reasoning_tokens": 0,
    }


def assistant(message_id: str, words: str, *calls: dict[str, Any]) -> dict[str, Any]:
    return {
        "role": "assistant",
        "id": message_id,
        "content": [text(words), *({"type": "toolcall", **one} for one in calls)],
    }


FORECAST = call("call_forecast", "get_forecast", place="Bergen", days=3)
SOIL = call("call_soil", "read_soil", bed="tomatoes", depth_cm=12.5)
WATER = call("call_water", "order_water", litres=200, at="06:00")
PUMP = call("call_pump", "switch_pump", pump="north", on=True)


def run() -> dict[str, Any]:
    first, second = usage(812, 41), usage(951, 118)
    return {
        "max_turns": 8,
        "max_invalid_tool_call_retries": 1,
        "tool_choice": None,
        "output_tool_name": None,
        "output_schema": None,
        "max_output_retries": 1,
        "output_retries": 0,
        "chat_history": [
            {"role": "system", "content": "You look after a garden. Ask before you switch anything on."},
            {"role": "user", "content": [text("The tomatoes are in the north bed.")]},
            assistant("msg_0", "Noted: tomatoes, north bed."),
        ],
        "new_messages": [
            {"role": "user", "content": [text("It has been dry for a week. What should we do?")]},
            assistant("msg_1", "I will look at the forecast first.", FORECAST),
            {"role": "user", "content": [result(FORECAST, "no rain for 3 days, 24 °C, light wind")]},
            assistant(
                "msg_2", "No rain is coming. I check the soil, order water, and start the pump.", SOIL, WATER, PUMP
            ),
        ],
        "current_turn": 2,
        "usage": usage(812 + 951, 41 + 118),
        "completion_calls": [
            {"call_index": 0, "usage": first, "message_id": "msg_1", "finish_reason": "tool_calls"},
            {"call_index": 1, "usage": second, "message_id": "msg_2", "finish_reason": "tool_calls"},
        ],
        "completion_call_index": 2,
        "invalid_tool_call_retries": 0,
        "rollback_pending": False,
        "streamed_completion_call_recorded": True,
        "state": {
            "ExecutingTools": [
                {"tool_call": SOIL, "preresolved_result": None, "internal_call_id": "soil-7f31"},
                {"tool_call": WATER, "preresolved_result": None, "internal_call_id": "water-02c9"},
                {
                    "tool_call": PUMP,
                    "preresolved_result": result(PUMP, "refused by the gardener: the north pump leaks"),
                    "internal_call_id": "pump-b5d4",
                },
            ]
        },
    }


def written() -> str:
    return json.dumps(run(), ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    TARGET.write_text(written(), encoding="utf-8")
