"""The queues of a running network: tokens in saved form, and in which order they arrived at their readers."""

from collections import deque
from collections.abc import Sequence

from inspector.dataflow.plan import Node, Plan
from inspector.model.values import Value

OUTPUTS = "outputs"
"""What stands for the network itself among the orders of arrival, whose other names are numbers of nodes."""


class Queues:
    """The queues of a plan, by number. A port that several queues lead to takes tokens in the order of arrival,
    which is kept beside them."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._queues: list[deque[Value]] = [deque() for _ in plan.links]
        self._orders: list[dict[str, deque[int]]] = [
            {port: deque() for port, queues in node.reads.items() if len(queues) > 1} for node in plan.nodes
        ]
        self._arrived: dict[str, deque[int]] = {
            port: deque() for port, queues in plan.outputs.items() if len(queues) > 1
        }
        self._rooms = [_rooms(plan, node) for node in plan.nodes]
        self._order = self._of_queues()

    def __getitem__(self, queue: int) -> deque[Value]:
        """The tokens of a queue, head first."""
        return self._queues[queue]

    def put(self, queue: int, token: Value) -> None:
        """Add a token at the end."""
        self._queues[queue].append(token)
        if (order := self._order[queue]) is not None:
            order.append(queue)

    def take(self, queue: int) -> Value:
        """Remove the token at the head."""
        if (order := self._order[queue]) is not None:
            order.remove(queue)
        return self._queues[queue].popleft()

    def front(self, number: int, port: str) -> int | None:
        """The queue that a port of a node takes its next token from; None when it has none."""
        order = self._orders[number].get(port)
        if order is not None:
            return order[0] if order else None
        queue = self.plan.nodes[number].reads[port][0]
        return queue if self._queues[queue] else None

    def full(self, number: int) -> bool:
        """Whether a queue that the node puts on holds as many tokens as it may."""
        rooms = self._rooms[number]
        return bool(rooms) and any(len(self._queues[queue]) >= room for queue, room in rooms)

    @property
    def sizes(self) -> list[int]:
        """How many tokens each queue holds."""
        return list(map(len, self._queues))

    def orders(self) -> dict[str, dict[str, list[int]]]:
        """The orders of arrival, as data."""
        found = {
            str(number): {port: list(order) for port, order in orders.items()}
            for number, orders in enumerate(self._orders)
            if orders
        }
        return found | (
            {OUTPUTS: {port: list(order) for port, order in self._arrived.items()}} if self._arrived else {}
        )

    def outputs(self) -> dict[str, list[Value]]:
        """The tokens at each output port of the network, in the order of arrival."""
        return {port: self._output(port, queues) for port, queues in self.plan.outputs.items()}

    def _output(self, port: str, queues: Sequence[int]) -> list[Value]:
        if port not in self._arrived:
            return [token for queue in queues for token in self._queues[queue]]
        places = {queue: iter(self._queues[queue]) for queue in queues}
        return [next(places[queue]) for queue in self._arrived[port]]

    def restore(self, tokens: Sequence[Sequence[Value]], orders: dict[str, dict[str, list[int]]]) -> None:
        """Take over the tokens of each queue, and the orders of arrival."""
        self._queues = [deque(found) for found in tokens]
        for number, ports in orders.items():
            if number == OUTPUTS:
                self._arrived = {port: deque(order) for port, order in ports.items()}
                continue
            self._orders[int(number)] = {port: deque(order) for port, order in ports.items()}
        self._order = self._of_queues()

    def _of_queues(self) -> list[deque[int] | None]:
        """For each queue the order of arrival at the port that it leads to; None where it is the only one."""
        return [
            (self._arrived if link.target is None else self._orders[link.target]).get(link.target_port)
            for link in self.plan.links
        ]


def _rooms(plan: Plan, node: Node) -> list[tuple[int, int]]:
    """The queues that a node puts on and that have a capacity, each with it."""
    queues = [queue for queues in node.writes.values() for queue in queues]
    return [(queue, room) for queue in queues if (room := plan.links[queue].capacity) is not None]
