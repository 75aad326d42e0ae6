"""What a network's code was: the graph that decides whether a run fits, and what is only shown when it changed.

The graph is names, kinds, classes, ports, edges and nesting; its digest is SHA-256 over canonical JSON. Parameters,
guards, the source of bodies, idempotency, state at the beginning and timeouts are recorded per node beside it, and so
are the capacities of edges and the number of workers.
"""

import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import UNSET

from inspector.dataflow.codec import Unsavable, Values
from inspector.dataflow.plan import Node as PlanNode
from inspector.dataflow.plan import Plan
from inspector.model.digest import digest as canonical_digest
from inspector.model.run import Definition, Edge, Graph, Node, Tool
from inspector.model.values import Value


def definition(plan: Plan, values: Values | None = None, tools: tuple[Tool, ...] = ()) -> Definition:
    """The definition of a plan; `tools` are those of its agents and tool nodes."""
    saver = values or Values()
    nodes = [_node(node, saver) for node in plan.nodes]
    nodes += [Node(id="/".join(path), kind="network") for path in plan.networks]
    edges = tuple(
        Edge(
            id="/".join((*link.scope, link.id)),
            from_=_end(plan, link.source, link.source_port, "in"),
            to=_end(plan, link.target, link.target_port, "out"),
            capacity=link.capacity,
        )
        for link in plan.links
    )
    return Definition(
        graph=Graph(digest=digest(plan), nodes=tuple(nodes), edges=edges),
        tools=tools,
        tools_known="registry",
        settings={"workers": plan.workers},
    )


def digest(plan: Plan) -> str:
    """`sha256:` and the digest of what decides whether a run fits the network."""
    shape = {
        "nodes": [[node.name, node.kind, node.class_name, *_ports(node)] for node in plan.nodes],
        "edges": [[list(link.scope), link.id] for link in plan.links],
        "networks": ["/".join(path) for path in plan.networks],
    }
    return f"sha256:{canonical_digest(shape)}"


def body_digest(bodies: tuple[Callable[..., Any], ...]) -> str | None:
    """The digest of the source of functions; None where it cannot be read (typed in, compiled)."""
    try:
        text = "\n".join(inspect.getsource(body) for body in bodies)
    except (OSError, TypeError):
        return None
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _node(node: PlanNode, values: Values) -> Node:
    actor = node.actor
    bodies = actor.bodies if actor else (node.condition,) if node.condition else ()
    return Node(
        id=node.name,
        kind=node.kind,
        class_=node.class_name,
        parameters=_fields(actor.parameters, values) if actor and actor.parameters else None,
        body=body_digest(bodies) if bodies else None,
        idempotency=actor.idempotency if actor else None,
        state=_fields(actor.state, values) if actor else UNSET,
        timeout=actor.timeout if actor else UNSET,
    )


def _fields(fields: Mapping[str, Any], values: Values) -> dict[str, Value]:
    found = {}
    for name, value in fields.items():
        try:
            found[name] = values.encode(value)
        except Unsavable as error:
            found[name] = {"$type": "unknown", "reason": str(error)}
    return found


def opaque(definition: Definition) -> Iterator[tuple[str, str]]:
    """The nodes with parameters that could not be recorded, and their names."""
    for node in (definition.graph.nodes if definition.graph is not None else None) or ():
        parameters = node.parameters if isinstance(node.parameters, dict) else {}
        names = [name for name, v in parameters.items() if isinstance(v, dict) and v.get("$type") == "unknown"]
        if names:
            yield node.id, ", ".join(names)


def _ports(node: PlanNode) -> list[list[str]]:
    return [sorted(node.reads), sorted(node.actor.outputs if node.actor else node.writes)]


def _end(plan: Plan, number: int | None, port: str, boundary: str) -> str:
    return f"{boundary if number is None else plan.nodes[number].name}.{port}"
