"""Makes langgraph-interrupted.db with LangGraph: an agent that looks into an outage, asks three hosts at once,
and wants to restart one of them.

    pip install langgraph==1.2.24 langgraph-checkpoint-sqlite==3.1.2
    python examples/make_langgraph.py

`graph` is the same graph, for going on with one of the threads.

Three threads: `night-shift` waits for somebody to allow the restart, `day-shift` has lost one of its three
hosts (its answer is missing, the others' are stored), and `drill` was allowed to go on, then taken back to an
earlier step and sent another way.
"""

import operator
import sqlite3
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Send, interrupt

FILE = Path(__file__).parent / "langgraph-interrupted.db"


class Outage(TypedDict, total=False):
    """The state of the graph."""

    messages: Annotated[list[AnyMessage], add_messages]
    hosts: list[str]
    reports: Annotated[list[str], operator.add]
    allowed: bool


class Host(TypedDict):
    """What one probe is given."""

    host: str
    lost: bool


def plan(state: Outage) -> dict[str, Any]:
    """Which hosts to ask."""
    return {"hosts": ["web-1", "web-2", "db-1"]}


def fan_out(state: Outage) -> list[Send]:
    """A token for each host."""
    lost = "db-1 is gone" in str(state["messages"][0].content)
    return [Send("probe", {"host": host, "lost": lost and host == "db-1"}) for host in state["hosts"]]


def probe(given: Host) -> dict[str, Any]:
    """One host's answer."""
    if given["lost"]:
        raise ConnectionError(f"no route to host {given['host']}")
    full = "92 % of memory in use" if given["host"] == "web-2" else "healthy"
    return {"reports": [f"{given['host']}: {full}"]}


def model(state: Outage) -> dict[str, Any]:
    """The scripted model: first two calls, then the end."""
    if not isinstance(state["messages"][-1], ToolMessage):
        calls = [
            {"name": "restart_service", "args": {"host": "web-2", "service": "shop"}, "id": "call-1"},
            {"name": "read_log", "args": {"host": "web-2", "lines": 50}, "id": "call-2"},
        ]
        spent = {"input_tokens": 412, "output_tokens": 63, "total_tokens": 475}
        text = "web-2 is short of memory. I want to restart the shop there and read its log."
        return {"messages": [AIMessage(text, tool_calls=calls, usage_metadata=spent)]}
    return {"messages": [AIMessage("Done." if state.get("allowed") else "I have left web-2 alone.")]}


def allow(state: Outage) -> dict[str, Any]:
    """Asks before anything is restarted."""
    call = state["messages"][-1].tool_calls[0]
    return {"allowed": interrupt({"question": "restart the shop on web-2?", "call": call})}


def tools(state: Outage) -> dict[str, Any]:
    """Runs the calls, the restart only when it was allowed."""
    found = []
    for call in state["messages"][-1].tool_calls:
        refused = call["name"] == "restart_service" and not state["allowed"]
        text = "not allowed" if refused else f"{call['name']} on {call['args']['host']}: ok"
        found.append(ToolMessage(text, tool_call_id=call["id"], name=call["name"]))
    return {"messages": found}


def build(saver: SqliteSaver | None = None) -> CompiledStateGraph:
    """The graph, with its checkpoints in a store."""
    builder = StateGraph(Outage)
    for node in (plan, probe, model, allow, tools):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "plan")
    builder.add_conditional_edges("plan", fan_out, ["probe"])
    builder.add_edge("probe", "model")
    builder.add_conditional_edges("model", lambda state: "allow" if state["messages"][-1].tool_calls else END)
    builder.add_edge("allow", "tools")
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


graph = build()


def main() -> None:
    """Makes the file anew."""
    FILE.unlink(missing_ok=True)
    connection = sqlite3.connect(FILE, check_same_thread=False)
    graph = build(SqliteSaver(connection))

    def ask(thread: str, given: Any) -> None:
        graph.invoke(given, {"configurable": {"thread_id": thread}})

    ask("drill", {"messages": [HumanMessage("The shop is slow. (This is a drill.)")]})
    ask("drill", Command(resume=True))
    asked = {"configurable": {"thread_id": "drill"}}
    waiting = next(one for one in graph.get_state_history(asked) if one.next == ("allow",))
    graph.invoke(None, graph.update_state(waiting.config, {"allowed": False}, as_node="allow"))
    try:
        ask("day-shift", {"messages": [HumanMessage("The shop is slow, and db-1 is gone from the list.")]})
    except ConnectionError as error:
        print("day-shift:", error)
    ask("night-shift", {"messages": [HumanMessage("The shop is slow.")]})
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA page_size = 512")
    connection.execute("VACUUM")
    connection.close()


if __name__ == "__main__":
    main()
