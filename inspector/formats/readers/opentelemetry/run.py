"""One trace as a run: its spans in the order in which they began."""

import contextlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import groupby, islice
from operator import eq

from inspector.formats.linefile import BROKEN, visible
from inspector.formats.readers.opentelemetry import genai, talk
from inspector.formats.readers.opentelemetry.parents import WALKED, Parents, once
from inspector.formats.readers.opentelemetry.span import Span, frames
from inspector.formats.readers.opentelemetry.units import LATEST, UNKNOWN, SpanFile
from inspector.formats.search import NOWHERE, Search, needles
from inspector.model.run import Definition, Problem, RawRecord, Resume, Run, RunError, State, Step, Usage
from inspector.model.text import clean

SUMMED = 2000
"""Spans of a trace that are decoded to add up their tokens, where no span tells the sum."""
TOPS = 100
"""Spans at the beginning of a trace that are looked at for the first of a process, where none is without a parent."""
LAST = 500
"""Spans at the end of a trace that are looked at for the failure that ended it."""


class Sorted:
    """What follows from the rows of a trace, as long as no more are known."""

    def __init__(self, file: SpanFile, number: int) -> None:
        self.file = file
        self.known = len(file)
        self.counted: list[Usage] | None = None
        """What its model calls spent."""
        self._every = file.rows_of(number)
        rows, self.again = once(file, self._every)
        ends, begin = file.ends, _begin(file, rows)
        # A parent often begins with its first child, and ends later.
        rows.sort(key=ends.__getitem__, reverse=True)
        rows.sort(key=begin)
        self.rows = array("I", rows if len(rows) > WALKED else _outer_first(file, rows, begin))

    def seq(self, row: int) -> int:
        """The step of a row of the file, 0 for one that is none of this trace."""
        place = bisect_left(self._every, row)
        return self._seqs[place] if place < len(self._every) and self._every[place] == row else 0

    @cached_property
    def _seqs(self) -> "array[int]":
        """The steps of the trace's rows in the order of the file. As many as those alone: a file may hold very many
        traces."""
        every, found = self._every, array("I", bytes(4 * len(self._every)))
        for seq, row in enumerate(self.rows, 1):
            found[bisect_left(every, row)] = seq
        return found

    @cached_property
    def parents(self) -> Parents:
        return Parents(self.file, self.rows, self.again)

    @cached_property
    def roots(self) -> list[int]:
        """The steps of the spans that name no parent; where none does, of those whose parent is another process's."""
        found = [seq for seq, row in enumerate(self.rows, 1) if not self.file.parents[row]]
        return found or [seq for seq, row in enumerate(self.rows[:TOPS], 1) if self._is_remote(row)]

    def _is_remote(self, row: int) -> bool:
        with contextlib.suppress(*BROKEN):
            return self.parents.above(row) is None and self.file.span(row).remote
        return False


def _begin(file: SpanFile, rows: Sequence[int]) -> Callable[[int], int]:
    """When the span of a row begins, to sort by: one that does not say stands by its end, or behind the one before
    it."""
    begins, ends = file.begins, file.ends
    filled, before = dict[int, int](), 0
    for row in rows:
        if begins[row] == UNKNOWN:
            filled[row] = ends[row] if ends[row] != UNKNOWN else before
        before = filled.get(row, begins[row])
    return (lambda row: filled.get(row, begins[row])) if filled else begins.__getitem__


def _outer_first(file: SpanFile, rows: list[int], begin: Callable[[int], int]) -> list[int]:
    """The sorted rows, of those that begin at the same time a parent before its children, and else what ended first: a
    clock of microseconds gives many the same times."""
    if not any(map(eq, map(begin, rows), map(begin, islice(rows, 1, None)))):
        return rows
    found: dict[int, None] = {}
    for _, together in groupby(rows, key=begin):
        # Of two that follow each other within a tick of the clock the first one is over first.
        tied = sorted(together, key=lambda row: file.ends[row] if file.ends[row] != UNKNOWN else LATEST)
        places = {file.ids[row]: row for row in tied} if len(tied) > 1 else {}
        for row in tied:
            chain: dict[int, None] = {}
            above: int | None = row
            while above is not None and above not in chain and above not in found:
                chain[above] = None
                above = places.get(file.parents[above]) if places and file.parents[above] else None
            found.update(dict.fromkeys(reversed(chain)))
    return list(found)


class Trace:
    """A RunSource: trace `number`, of the id `trace`, of a file of spans."""

    def __init__(self, file: SpanFile, number: int, trace: str) -> None:
        self.file, self.source, self.number, self.trace = file, file.source, number, trace
        self._sorted: Sorted | None = None
        self._near = (0, 0)

    @property
    def sorted(self) -> Sorted:
        """The spans in order, as far as they are known: anew when the file is read to its end."""
        if self._sorted is None or (self.file.indexed and self._sorted.known != len(self.file)):
            self._sorted = Sorted(self.file, self.number)
            self._near = (0, 0)
        return self._sorted

    def __len__(self) -> int:
        return len(self.sorted.rows)

    def index(self) -> Iterator[tuple[int, int]]:
        return self.file.index()

    def refresh(self) -> bool:
        return self.file.refresh()

    def close(self) -> None:
        """Nothing: the other traces of the file may still be looked at."""

    def span(self, seq: int) -> Span | None:
        """The span of a step; None when the file changed under it."""
        with contextlib.suppress(*BROKEN):
            return self.file.span(self.sorted.rows[seq - 1])
        return None

    def parent(self, seq: int) -> int | None:
        """The step that a step is nested in."""
        above = self.sorted.parents.above(self.sorted.rows[seq - 1])
        return None if above is None else self.sorted.seq(above) or None

    def steps(self, start: int, stop: int) -> Sequence[Step]:
        found = []
        for seq in range(max(start, 1), min(stop, len(self) + 1)):
            span = self.span(seq)
            gone = Step(seq=seq, kind="node", name="?", status="unknown", error="the span is gone from the file")
            found.append(gone if span is None else genai.step(span, seq, self.parent(seq), partial(self._tell, seq)))
        return found

    def _tell(self, seq: int, message: str) -> None:
        where = str(self.file.line_of(self.sorted.rows[seq - 1]))
        self.file.met(Problem(severity="warning", where=where, message=clean(f"step {seq}: {message}")))

    def run(self) -> Run:
        roots = [(seq, span) for seq in self.sorted.roots[:100] if (span := self.span(seq)) is not None]
        failed = next(((seq, span) for seq, span in roots if span.failed), None)
        first = self.span(1) if len(self) else None
        top = roots[0][1] if roots else first
        status, reason = talk.outcome([span for _, span in roots])
        ends = [span for _, span in roots if span.end is not None]
        return Run(
            id=self.trace,
            name=None if top is None else _name(top),
            kind="trace",
            status=status,
            reason=reason,
            steps=len(self),
            started=first.started if first else None,
            ended=max(ends, key=lambda span: span.end or 0).ended if ends else None,
            error=self._error(*failed) if failed else None,
            usage=self._usage(roots[0][1] if len(roots) == 1 else None),
        )

    def _error(self, seq: int, root: Span) -> RunError:
        """Why a run failed: what its root says, and where it happened as far as the last spans tell. A failure that
        stopped at a span which went well is none of the run."""
        place, span = seq, root
        for other in range(len(self), max(len(self) - LAST, 0), -1):
            found = self.span(other)
            if found is not None and found.failed and self._reaches(other, seq):
                place, span = other, found
                break
        told = root.exception() or span.exception() or {}
        kind = told.get("exception.type") or root.attributes.get("error.type") or span.attributes.get("error.type")
        message = told.get("exception.message") or root.message or span.message
        kind, message = (value if isinstance(value, str) else None for value in (kind, message))
        kind, message = genai.kind_and_words(kind, message)
        return RunError(
            message=message,
            type=kind,
            step=place,
            where=self._path(place),
            frames=frames(told.get("exception.stacktrace")),
        )

    def _reaches(self, seq: int, root: int) -> bool:
        """Whether all spans from one up to the root failed; as far as they are known."""
        above = self.parent(seq)
        for _ in range(100):
            span = self.span(above) if above is not None and above != root else None
            if above is None or span is None:
                return True
            if not span.failed:
                return False
            above = self.parent(above)
        return True

    def _path(self, seq: int) -> tuple[str, ...]:
        names: list[str] = []
        above: int | None = seq
        while above is not None and len(names) < 100:
            span = self.span(above)
            names.append(span.name if span else "?")
            above = self.parent(above)
        return tuple(names[::-1])

    def _usage(self, root: Span | None) -> Usage | None:
        """What the model calls spent, or what the root tells where that is more: an agent may leave out those of
        agents within it, and not each call need be in the file."""
        told = None if root is None else genai.usage(root, "gen_ai.aggregated_usage")
        if len(self) > SUMMED:
            return told
        counted = self._counted()
        if not counted:
            return told or (None if root is None else genai.usage(root, genai.USAGE))
        spent = Usage(
            input_tokens=sum(usage.input_tokens or 0 for usage in counted),
            output_tokens=sum(usage.output_tokens or 0 for usage in counted),
        )
        return spent if told is None or _tokens(told) < _tokens(spent) else told

    def _counted(self) -> list[Usage]:
        """What each model call spent. One call can have a span of each library that it goes through."""
        if self.sorted.counted is not None:
            return self.sorted.counted
        counted: list[Usage] = []
        within: dict[int | None, bool] = {}
        for seq in range(1, len(self) + 1):
            span, what = self.span(seq), "node"
            if span is not None:
                what = "agent" if genai.is_agent(span) else genai.kind(span)
            within[seq] = what in ("model", "node") and within.get(self.parent(seq), False)
            usage = genai.usage(span, genai.USAGE) if span and what == "model" and not within[seq] else None
            if usage is not None:
                counted.append(usage)
                within[seq] = True
        self.sorted.counted = counted
        return counted

    def definition(self) -> Definition:
        return talk.definition(self, len(self))

    def definition_at(self, step: int) -> Definition:
        """The tools that were offered last before a step; where none were, those of the run."""
        found = talk.definition(self, step)
        return found if found.tools_known == "advertised" else self.definition()

    def state(self, step: int) -> State | None:
        if not 0 <= step <= len(self):
            return None
        return talk.state(self, step)

    def resume(self) -> Resume:
        return Resume(reasons=("not_resumable",))

    def problems(self) -> Sequence[Problem]:
        found = list(self.file.problems())
        return [*found, *self.sorted.parents.problems] if self.file.indexed else found

    def raw(self, step: int) -> RawRecord | None:
        if not 1 <= step <= len(self):
            return None
        text, offset = self.file.raw(self.sorted.rows[step - 1])
        return RawRecord(where=str(self.file.place_of(offset)), text=visible(text))

    def find(self, text: str, start: int, *, backward: bool = False) -> Iterator[int | tuple[int, int]]:
        """The file is searched as it stands; the hits come in the order of the steps, when that is done."""
        yield from self.index()
        wanted = needles(text)
        if not wanted:
            return
        found: set[int] = set()
        file, known = self.file, self.sorted
        begin, stop = file.file.start, file.file.size
        search, at = Search(file.file, wanted, begin, stop), begin
        while at < stop:
            hit, on = search.after(at)
            if hit == NOWHERE:
                at = on
                yield at - begin, stop - begin
                continue
            unit, at = file.unit_at(hit)
            found.update(seq for row in file.rows_with(unit, wanted) if (seq := known.seq(row)))
        hits = (seq for seq in found if (seq <= start if backward else seq >= start))
        yield from sorted(hits, reverse=backward)


def _name(span: Span) -> str | None:
    names = (span.attributes.get("gen_ai.agent.name"), span.resource.get("service.name"), span.name)
    return next((name for name in names if isinstance(name, str) and name), None)


def _tokens(usage: Usage) -> int:
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)
