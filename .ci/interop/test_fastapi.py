"""The README's web service, its very block: server-sent events from FastAPI and uvicorn, fifty clients at once."""
import asyncio
import contextlib
import json
import socket
import threading

import httpx2
import pytest
import uvicorn

import test_toolreg
from toolreg import Injected, ToolRegistry

CLIENTS = 50
BLOCK = next(text for _, kind, text in test_toolreg.readme_blocks()
             if kind == "python interop" and "text/event-stream" in text)


def count_words(text: str, user_id: Injected[str]) -> str:
    """Count the words of a text."""
    return f"{user_id}: {len(text.split())}"


class Model:
    """Call the tool with the question, and answer only when every client has read the message with the call."""

    def __init__(self):
        self.all_read, self.asked = threading.Event(), 0

    def answer(self, messages):
        self.asked += 1
        if messages[-1]["role"] == "tool":
            return {"role": "assistant", "content": messages[-1]["content"]}
        function = {"name": "count_words", "arguments": json.dumps({"text": messages[0]["content"]})}
        return {"role": "assistant", "content": None, "tool_calls": [
            {"id": "call_1", "type": "function", "function": function}]}

    def on_a_thread(self, *, messages, tools, tool_choice):
        assert len(messages) == 1 or self.all_read.wait(60)
        return self.answer(messages)

    async def on_the_loop(self, *, messages, tools, tool_choice):
        while len(messages) > 1 and not self.all_read.is_set():
            await asyncio.sleep(0.01)
        return self.answer(messages)


@contextlib.contextmanager
def serving(app):
    """Run uvicorn on a thread, and give its address."""
    with socket.create_server(("127.0.0.1", 0), backlog=2 * CLIENTS) as listener:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def app_of(gpt):
    """Run the README's block with a model, and a registry whose tool takes what each request injects."""
    namespace = {"gpt": gpt, "calculator": ToolRegistry([count_words]), "json": json}
    test_toolreg.run_block(BLOCK, namespace)
    return namespace["app"]


async def events_of(client, number, on_event=lambda: None):
    """Ask as one user, and give the messages as they come."""
    messages = []
    question = {"question": "word " * number, "user": f"u-{number}"}
    async with client.stream("GET", "/ask", params=question) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        async for line in response.aiter_lines():
            if line:
                messages.append(json.loads(line.removeprefix("data: ")))
                on_event()
    return messages


@pytest.mark.parametrize("how", ["on_the_loop", "on_a_thread"])
def test_fifty_clients_at_once_each_get_their_own_messages_as_they_come(how):
    model, started = Model(), []

    def on_event():
        started.append(1)
        if len(started) == CLIENTS:         # nobody had a second message: none comes before all have the first
            model.all_read.set()

    async def ask_all(url):
        limits = httpx2.Limits(max_connections=None)
        async with httpx2.AsyncClient(base_url=url, timeout=120, limits=limits, trust_env=False) as client:
            return await asyncio.gather(*(events_of(client, number, on_event) for number in range(1, CLIENTS + 1)))
    with serving(app_of(getattr(model, how))) as url:
        told = asyncio.run(ask_all(url))
    assert model.asked == 2 * CLIENTS
    for number, messages in enumerate(told, 1):
        assert [message["role"] for message in messages] == ["assistant", "tool", "assistant"]
        assert [message["content"] for message in messages[1:]] == [f"u-{number}: {number}"] * 2
