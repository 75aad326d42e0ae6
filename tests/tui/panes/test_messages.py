from collections.abc import Sequence
from typing import Any

from inspector.model.run import Actor, Call, Message, State
from inspector.tui.panes import messages
from inspector.tui.panes.messages import NEWEST, ROWS
from tests.tui.panes.snapshots import fold_at, opened, shown, snapshot

TALK = (
    Message(role="system", text="You sell jam."),
    Message(role="user", text="How many jars?\nAnd which?"),
    Message(
        role="assistant", text="Let me count.", calls=(Call(name="count", call_id="c1", arguments={"of": "jars"}),)
    ),
    Message(role="tool", text='{"jars": 3}', call_id="c1", name="count"),
    Message(role="assistant"),
)


def test_a_conversation() -> None:
    before = State(step=4, messages=TALK[:3])
    assert shown(messages.lines(snapshot(before=before, messages=TALK), 60)) == [
        "5 messages; this step added 2",
        "     1 system     You sell jam.",
        "     2 user       How many jars?",
        "                  And which?",
        "     3 assistant  Let me count.",
        '                  → count  c1  {"of": "jars"}',
        "+    4 tool       for c1  count",
        '                  {"jars": 3}',
        "+    5 assistant  (no text)",
    ]


def test_long_texts_are_folded_and_unfold_in_place() -> None:
    talk = (Message(role="user", text=" ".join(f"word{number}" for number in range(400))),)
    lines = messages.lines(snapshot(messages=talk), 60)
    assert len(lines) == 1 + ROWS + 1
    assert shown(lines)[-1].strip().endswith("more characters")
    assert opened(lines, "more characters") == talk[0].text
    whole = messages.lines(snapshot(messages=talk), 60, fold_at(lines, "more characters"))
    assert shown(whole)[-1].endswith("word399")
    text = " ".join(line[18:] for line in shown(whole)[1:])
    assert text == talk[0].text
    assert len(messages.lines(snapshot(messages=talk), 60, fold_at(whole, "word0"))) == len(whole)


def test_enter_opens_text_call_or_everything() -> None:
    lines = messages.lines(snapshot(messages=TALK), 60)
    assert opened(lines, "How many") == "How many jars?\nAnd which?"
    assert opened(lines, "→ count") == {"name": "count", "call_id": "c1", "arguments": {"of": "jars"}}
    whole = opened(lines, "Let me count")
    assert whole["text"] == "Let me count."
    assert whole["calls"][0]["call_id"] == "c1"


class Talk(Sequence[Message]):
    """A long conversation that counts how many messages were made."""

    def __init__(self, length: int) -> None:
        self.length, self.made = length, 0

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Any) -> Any:
        self.made += 1
        return Message(role="user", text=f"message {index}\nwith a second row")


def test_a_long_conversation_is_made_where_it_is_looked_at() -> None:
    talk, before = Talk(400_000), Talk(399_998)
    lines = messages.lines(snapshot(before=State(step=4, messages=before), messages=talk), 80)
    assert shown(lines, [0]) == ["400,000 messages; this step added 2"]
    assert shown(lines, [1]) == ["     1 user       message 0\\nwith a second row"]
    assert shown(lines, [len(lines) - 2]) == ["+ 400000 user       message 399999"]
    assert talk.made < 3 * NEWEST
    assert before.made == 1


def test_a_history_that_was_shortened_says_so() -> None:
    before = State(step=4, messages=TALK[:4])
    after = (Message(role="system", text="summary of what was said"), TALK[4])
    assert shown(messages.lines(snapshot(before=before, messages=after), 60))[0] == (
        "2 messages; this step added 2 and took 4 away"
    )
    assert messages.common(TALK, (*TALK[:2], TALK[4])) == 2


def test_wide_characters_wrap_by_cells() -> None:
    talk = (Message(role="user", text="受取人" * 40),)
    from rich.cells import cell_len

    assert all(cell_len(line) <= 60 for line in shown(messages.lines(snapshot(messages=talk), 60)))


def test_what_is_not_recorded_is_not_nothing() -> None:
    assert shown(messages.lines(snapshot(known=True), 60)) == ["this file does not record messages"]
    assert shown(messages.lines(snapshot(messages=()), 60)) == ["there are no messages yet"]


def test_the_messages_of_agents_that_wait_in_a_network_can_be_opened() -> None:
    said = [{"role": "user", "content": [{"type": "text", "text": "pay"}]}]
    held = Actor(id="clerk", scope=("desk",), unfinished={"agent": "clerk", "run": {"messages": said}})
    other = Actor(id="odd", unfinished={"run": [1]})
    found = messages.lines(snapshot(actors=(other, held)), 80)
    assert shown(found)[1:] == ["  desk/clerk  1 message, Enter opens them"]
    assert "cannot be edited" in shown(found)[0]
    opens = found[1].opens
    assert opens is not None
    assert (opens.value, opens.place) == (said, None)
