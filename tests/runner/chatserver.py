"""A local server that speaks the OpenAI chat protocol, from a script of answers."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any]], Any]
"""Takes a request's body. Returns a message (dict), or (status, headers, body) for an error, or the string
"cut" to break a stream off."""


class ChatServer:
    """Runs in a thread; `requests` are the bodies that came in."""

    def __init__(self, answer: Answer) -> None:
        self.requests: list[dict[str, Any]] = []
        self._answer = answer
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                outer._respond(self, body)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> "ChatServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def _respond(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        found = self._answer(body)
        if isinstance(found, tuple):
            status, headers, error = found
            self._send(handler, status, headers, json.dumps({"error": error}).encode())
        elif body.get("stream"):
            self._send(handler, 200, {"Content-Type": "text/event-stream"}, _events(found))
        else:
            self._send(handler, 200, {}, json.dumps(_whole(found)).encode())

    def _send(self, handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], data: bytes) -> None:
        handler.send_response(status)
        for name, value in ({"Content-Type": "application/json"} | headers).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)


_USAGE = {"prompt_tokens": 11, "completion_tokens": 4, "total_tokens": 15}
_HEAD = {"id": "resp-1", "created": 1, "model": "local-model"}


def calls(*asked: tuple[str, str, str]) -> dict[str, Any]:
    """A message that calls tools: (id, name, arguments as JSON)."""
    made = [
        {"id": call, "type": "function", "function": {"name": name, "arguments": arguments}}
        for call, name, arguments in asked
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def says(text: str) -> dict[str, Any]:
    """A message that says something."""
    return {"role": "assistant", "content": text}


def _reason(message: dict[str, Any]) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _whole(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": _reason(message)}
    return {**_HEAD, "object": "chat.completion", "choices": [choice], "usage": _USAGE}


def _events(message: Any) -> bytes:
    cut = message == "cut"
    message = says("half an") if cut else message
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in (message.get("content") or "").split(" ") if word]
    for index, call in enumerate(message.get("tool_calls") or ()):
        arguments = call["function"]["arguments"]
        first = {"index": index, **call, "function": {"name": call["function"]["name"], "arguments": ""}}
        deltas.append({"tool_calls": [first]})
        for piece in (arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :]):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if not cut:
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": _reason(message)}]})
        chunks.append({"choices": [], "usage": _USAGE})
    lines = [json.dumps({**_HEAD, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
    return "".join(f"data: {line}\n\n" for line in lines).encode() + (b"" if cut else b"data: [DONE]\n\n")
