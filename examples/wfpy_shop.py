"""A cake shop as a wfpy workflow: an order goes to the bakery (a workflow of its own) and to the books, side
by side; two boxes with their bills make a tour, and the tour is driven stop by stop, in a loop. While BRIDGE
is `up`, the van does not get to the harbour.

    pip install wfpy==1.1.0
    runinspect examples/wfpy-failed
    runinspect check examples/wfpy-failed --app examples/wfpy_shop.py:shop
"""

import os
from decimal import Decimal

from wfpy import Port, action, connect, guard, loop, task, workflow

ORDERS = [("Ada", "harbour", "plum", 2), ("Bo", "mill", "walnut", 3)]
PRICES = {"plum": Decimal("4.20"), "walnut": Decimal("5.00")}


@task
class Counter:
    """Takes the day's orders, one by one."""

    _next: int = 0

    class Ports:
        Order = Port[dict](direction="out")

    @action(consumes={}, produces={"Order": 1})
    @guard(lambda self: self._next < len(ORDERS))
    def take(self):
        name, stop, cake, count = ORDERS[self._next]
        self._next += 1
        return {"Order": {"name": name, "stop": stop, "cake": cake, "count": count}}


@task
class Mixer:
    """Mixes a dough for each cake of an order, one a firing."""

    _left: tuple = ()

    class Ports:
        Order = Port[dict](direction="in")
        Dough = Port[tuple](direction="out")

    @action(consumes={"Order": 1}, produces={"Dough": 1})
    @guard(lambda self, order: not self._left)
    def begin(self, order):
        first, *rest = ((order["cake"], number, order["count"]) for number in range(1, order["count"] + 1))
        self._left = tuple(rest)
        return first

    @action(consumes={}, produces={"Dough": 1})
    @guard(lambda self: bool(self._left))
    def more(self):
        first, *rest = self._left
        self._left = tuple(rest)
        return first


@task
class Oven:
    """Bakes, and hands out a box when an order is complete."""

    heat: int = 0
    _done: tuple = ()

    class Ports:
        Dough = Port[tuple](direction="in")
        Box = Port[list](direction="out")

    @action(consumes={"Dough": 1}, produces={})
    @guard(lambda self, dough: dough[1] < dough[2])
    def bake(self, dough):
        self.heat = min(self.heat + 60, 220)
        self._done = (*self._done, f"{dough[0]} {dough[1]}")

    @action(consumes={"Dough": 1}, produces={"Box": 1})
    @guard(lambda self, dough: dough[1] == dough[2])
    def last(self, dough):
        box, self._done = [*self._done, f"{dough[0]} {dough[1]}"], ()
        return {"Box": box}


@workflow(inputs={"Order": dict}, outputs={"Box": list})
def bakery():
    mixer = Mixer()
    oven = Oven()
    connect("Order", mixer.Order)
    connect(mixer.Dough, oven.Dough)
    connect(oven.Box, "Box")


@task
class Books:
    """Writes the bill, and remembers which cakes were sold."""

    sold: frozenset = frozenset()

    class Ports:
        Order = Port[dict](direction="in")
        Bill = Port[tuple](direction="out")

    @action(consumes={"Order": 1}, produces={"Bill": 1})
    def bill(self, order):
        self.sold = self.sold | {order["cake"]}
        return (order["name"], order["stop"], PRICES[order["cake"]] * order["count"])


@task
class Packer:
    """Puts boxes and bills together, and plans the tour: its stops, in order."""

    class Ports:
        Box = Port[list](direction="in")
        Bill = Port[tuple](direction="in")
        Tour = Port[list](direction="out")

    @action(consumes={"Box": 2, "Bill": 2}, produces={"Tour": 1})
    def pack(self, *parts):
        boxes, bills = parts[:2], parts[2:]
        parcels = [
            {"stop": stop, "for": name, "cakes": len(box), "sum": amount}
            for box, (name, stop, amount) in zip(boxes, bills, strict=True)
        ]
        return {"Tour": sorted(parcels, key=lambda parcel: parcel["stop"], reverse=True)}


@task
class Van:
    """Drives to a stop."""

    kilometres: int = 0

    class Ports:
        Stop = Port[dict](direction="in")
        Done = Port[str](direction="out")

    @action(consumes={"Stop": 1}, produces={"Done": 1})
    def drive(self, parcel):
        self.kilometres += 7
        if parcel["stop"] == "harbour" and os.environ.get("BRIDGE") == "up":
            raise RuntimeError("the bridge to the harbour is up, and will be for an hour")
        return f"{parcel['cakes']} cakes for {parcel['for']} at the {parcel['stop']}"


@workflow(outputs={"Delivered": str}, max_workers=1)
def shop():
    counter = Counter()
    baker = bakery()
    books = Books()
    packer = Packer()
    connect(counter.Order, baker.Order)
    connect(counter.Order, books.Order)
    connect(baker.Box, packer.Box)
    connect(books.Bill, packer.Bill)
    tour = loop(None)
    connect(packer.Tour, tour.iter)
    with tour:
        van = Van()
        connect(tour.item, van.Stop)
    connect(van.Done, "Delivered")
