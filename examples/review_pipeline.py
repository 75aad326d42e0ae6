"""A review pipeline, as a network: `runinspect run examples/review_pipeline.py:net --input '{"paper": ["tea"]}'`.

A paper is split three ways: its words are checked, an agent checks its claims, and a nested network lays it out; its
sections are polished one by one in a loop. The editor joins all four, and sends out what is good. With REVIEW_FAILS
set, the fortieth firing fails, inside of the loop; without it, the run goes on from there:
`runinspect resume examples/review-failed.jsonl --app examples/review_pipeline.py:net`.
"""

import os
from typing import Any

from inspector import Agent, Call, Network, ScriptedModel, actor, emit, tool

FORTIETH = 49
"""The step that is the fortieth firing: what the loop decides is a step too."""


def careful(context: Any) -> None:
    """Fails on purpose at the fortieth firing of the run."""
    if os.environ.get("REVIEW_FAILS") and context.step == FORTIETH:
        raise RuntimeError(f"{context.node} tore its page")


@actor(outputs=("text", "claims", "sections"))
def split(paper: str, context: Any):
    """A paper's text, the question about its claims, and its sections."""
    careful(context)
    parts = [f"{paper}, {part}" for part in ("background", "method", "outlook")]
    return emit(text=paper, claims=f"Which claims does the paper on {paper} make?", sections=parts)


@actor
def spelling(text: str, context: Any) -> dict[str, int]:
    """How many words there are, and how many are too long."""
    careful(context)
    words = text.split()
    return {"words": len(words), "long": sum(len(word) > 8 for word in words)}


@actor
def polish(section: str, context: Any) -> str:
    """A section that reads well; the shared context counts them."""
    careful(context)
    context.append("polished", section)
    return section.capitalize() + "."


@actor
def measure(text: str, context: Any) -> dict[str, Any]:
    """How much room a text needs."""
    careful(context)
    return {"text": text, "lines": 1 + len(text) // 20}


@actor
def place(measured: dict[str, Any], context: Any) -> str:
    """Where a text goes."""
    careful(context)
    return f"page of {measured['lines']} lines"


@actor
class Gather:
    """Collects a paper's sections until all three are there."""

    sections: tuple[str, ...] = ()

    def fire(self, section: str, context: Any):
        careful(context)
        self.sections = (*self.sections, section)
        if len(self.sections) % 3 == 0:
            yield emit(out=" ".join(self.sections[-3:]))


@actor(outputs=("good", "poor"))
class Editor:
    """Joins what was found out about a paper; sends out what has claims enough."""

    wanted: int
    issued: int = 0

    def fire(self, words: dict[str, int], verdict: str, layout: str, body: str, context: Any):
        careful(context)
        self.issued += 1
        report = {"number": self.issued, **words, "claims": verdict, "layout": layout, "body": body}
        return emit(good=report) if int(verdict.split()[0]) >= self.wanted else emit(poor=report)


@tool(idempotency="supported")
def find_claims(topic: str) -> list[str]:
    """The claims that papers on a topic make."""
    return [f"{topic} is old", f"{topic} is good for you"][: 1 + len(topic) % 2]


def answer(messages: Any) -> Any:
    """What the checker's model says: it looks the claims up, then counts them."""
    topic = messages[0].text.rpartition("on ")[2].removesuffix(" make?")
    if len(messages) == 1:
        return [Call("find_claims", {"topic": topic})]
    return f"{1 + len(topic) % 2} claims about {topic}"


def layout() -> Network:
    """The nested network."""
    inner = Network("layout")
    measuring, placing = inner.add(measure), inner.add(place)
    inner.connect(inner.input("text"), measuring.text)
    inner.connect(measuring.out, placing.measured)
    inner.connect(placing.out, inner.output("page"))
    return inner


def pipeline() -> Network:
    """The whole network."""
    net = Network("review")
    splitting, words = net.add(split), net.add(spelling)
    checker = net.add(Agent("checker", ScriptedModel(answer), tools=[find_claims], instructions="Count the claims."))
    laying, polishing = net.add(layout()), net.loop(polish, name="sections")
    gathering, editor = net.add(Gather()), net.add(Editor(wanted=2))
    net.connect(net.input("paper"), splitting.paper)
    net.connect(splitting.text, words.text)
    net.connect(splitting.text, laying.text)
    net.connect(splitting.claims, checker.prompt)
    net.connect(splitting.sections, polishing["items"])
    net.connect(polishing.out, gathering.section)
    net.connect(words.out, editor.words)
    net.connect(checker.answer, editor.verdict)
    net.connect(laying.page, editor.layout)
    net.connect(gathering.out, editor.body)
    net.connect(editor.good, net.output("good"))
    net.connect(editor.poor, net.output("poor"))
    return net


net = pipeline()
PAPERS = ["tea", "bees", "the old walls", "night trains", "a flood"]
