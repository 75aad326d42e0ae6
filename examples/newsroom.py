"""A small newsroom as a network: `runinspect run examples/newsroom.py:net --input '{"topic": ["tea"]}'`.

A topic becomes a draft; a review sends it back once or accepts it; what is accepted gets a picture and a
translation, side by side, and the press prints all three. The press jams now and then.
"""

import asyncio

from inspector import Network, actor, emit


@actor
async def draft(topic: str) -> str:
    """Words about a topic; a topic that was sent back gets more of them."""
    await asyncio.sleep(0.02)
    return f"on {topic}, in {3 + topic.count('!')} parts"


@actor(outputs=("good", "again"))
class Review:
    """Sends the first drafts back, and counts how many it has read."""

    strictness: int
    read: int = 0

    async def fire(self, text: str):
        await asyncio.sleep(0.008)
        self.read += 1
        if text.count("!") < self.strictness and self.read % 3:
            return emit(again=text.removeprefix("on ").split(",")[0] + "!")
        return emit(good=text)


@actor
async def picture(text: str) -> dict[str, object]:
    """A picture for a text."""
    await asyncio.sleep(0.03)
    return {"of": text.split(",")[0].removeprefix("on "), "width": 640, "height": 480}


@actor
async def translate(text: str) -> str:
    """The text in another language."""
    await asyncio.sleep(0.012)
    return text.replace("on ", "über ").replace("parts", "Teilen")


@actor
class Press:
    """Prints; jams on the page that it cannot hold."""

    printed: int = 0

    def fire(self, text: str, picture: dict[str, object], translation: str) -> str:
        if "flood" in text:
            raise RuntimeError(f"paper jam on page {self.printed + 1}: {text!r}")
        self.printed += 1
        return f"{text} / {translation} / {picture['of']}"


net = Network("newsroom")
drafting = net.add(draft)
review = net.add(Review(strictness=1))
pictures = net.add(picture)
translating = net.add(translate)
press = net.add(Press())
net.connect(net.input("topic"), drafting.topic)
net.connect(drafting.out, review.text)
net.connect(review.again, drafting.topic)
net.connect(review.good, pictures.text)
net.connect(review.good, translating.text)
net.connect(review.good, press.text)
net.connect(pictures.out, press.picture)
net.connect(translating.out, press.translation)
net.connect(press.out, net.output("page"))
