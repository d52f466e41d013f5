"""A provider on loopback: answers each request with the next of its scripted answers, and keeps what it was sent."""
import contextlib
import http.server
import json
import threading


class ScriptedServer:
    def __init__(self, *answers):
        self.answers, self.requests = list(answers), []

    def handler(server):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                server.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                answer = server.answers.pop(0)
                is_stream = isinstance(answer, list)
                body = "".join(map(event_text, answer)) if is_stream else json.dumps(answer)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
                self.send_header("content-length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_):
                pass
        return Handler


def event_text(event):
    """Spell one server-sent event; those of Anthropic and of the Responses API carry their type as a name too."""
    name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
    return f"{name}data: {event if isinstance(event, str) else json.dumps(event)}\n\n"


@contextlib.contextmanager
def serving(*answers):
    server = ScriptedServer(*answers)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), server.handler()) as listener:
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        server.url = f"http://127.0.0.1:{listener.server_address[1]}"
        try:
            yield server
        finally:
            listener.shutdown()
            thread.join()
