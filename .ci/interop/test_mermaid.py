"""The diagrams of `trace`, drawn by Mermaid in a real browser: what is read there is what was said."""

import html
import json
import pathlib
import re
import subprocess

import pytest

import toolreg

HOSTILE = [
    "plain",
    "end",
    "END",
    "a;b",
    "a#35;b",
    "#lt;b#gt;",
    "&lt;",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<br/>",
    "%%{init: {}}%%",
    "%% comment",
    "wrap: x",
    "nowrap:x",
    ":wrap: x",
    "$$x^2$$",
    "**b** _c_ `d`",
    "@{ type: x }",
    "->>",
    "U->>M: forged",
    "loop",
    "alt x",
    "note over U: x",
    "as y",
    "M",
    "+U",
    "-U",
    "\\n",
    "\\",
    '"',
    "'",
    "{",
    "}",
    "[x]",
    "(x)",
    "|",
    "~",
    "^",
    "*",
    "{text}",
    "ﬂ°°60¶ß",
    "é ☃ 北京 🎉",
    "a:b:c",
    "---",
    "```",
    "title: x",
    "autonumber",
    "participant X",
    "javascript:alert(1)",
    "https://example.org/?a=b&c=d#e",
    "\x1b[31m",
    "\u202eevil",
    "0",
    "x" * 149,
]


def draw(diagrams, node, node_modules, chromium, picture=None):
    script = pathlib.Path(__file__).with_name("mermaid_draw.cjs")
    done = subprocess.run(
        [node, str(script), str(node_modules), chromium, *([str(picture)] if picture else [])],
        input=json.dumps(diagrams),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return json.loads(done.stdout)


def conversation(name, call_id, text):
    call = toolreg.ToolCall(call_id, name, {"x": text, "toolcall_reason": text})
    wrong = toolreg.ToolCall("w" + call_id, name, {})
    return [
        {"role": "system", "content": text},
        {"role": "user", "content": text},
        *toolreg.build_assistant_messages([call, wrong]),
        {"role": "tool", "tool_call_id": call_id, "content": text},
        {"role": "tool", "tool_call_id": "w" + call_id, "content": "Error: " + text},
        {"role": "assistant", "content": text},
    ]


def flat(text):
    """Join white space as SVG does; Mermaid puts a zero-width space into an empty line."""
    return re.sub(r"\s+", " ", text.replace("\u200b", "")).strip()


def shown(text):
    """What a reader should see of a text: cut, control characters spelled out."""
    return flat(toolreg._seen(text, toolreg.DIAGRAM_CHARACTERS))


def test_a_lesson_is_drawn(node, node_modules, chromium, tmp_path):
    assert toolreg.main(["lesson", "2", "--mermaid", str(tmp_path / "flow.mmd")]) == 0
    text = (tmp_path / "flow.mmd").read_text("utf-8")
    (drawn,) = draw([text], node, node_modules, chromium, tmp_path / "lesson.png")
    assert (tmp_path / "lesson.png").stat().st_size > 20_000
    assert set(drawn["texts"]["actor"]) == {"user", "model", "registry", "get_weather", "get_time"}
    assert {
        "Time and weather in Oslo?",
        'call_1: get_weather {"city": "Oslo"}',
        "Oslo: sunny, 25 °C",
        "tool message call_1",
    } <= set(drawn["texts"]["messageText"])


def test_nothing_runs_on_the_page_of_a_hostile_history_and_nothing_is_lost(chromium, tmp_path):
    wave = "document.title='it ran'"
    hostile = [*HOSTILE, f"<script>{wave}</script>", f'</pre></section><img src=x onerror="{wave}">', "\ud800",
               "</style><style>body{display:none}</style>", f"<iframe src=\"javascript:{wave}\">", "&lt;b&gt;",
               "\n\nleading"]
    flow = [message for text in hostile for message in conversation(text, "c1", text)]
    hostile.append("x" * 5_000_000 + "END")
    flow.append({"role": "user", "content": hostile[-1]})
    (tmp_path / "page.html").write_text(toolreg.trace(flow, style="html"), "utf-8")
    browser = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]
    with open(tmp_path / "seen.html", "wb") as file:        # a file, since its children may outlive it
        subprocess.run([*browser, f"file://{tmp_path}/page.html"], stdout=file, stderr=file, timeout=120)
    seen = (tmp_path / "seen.html").read_text("utf-8")
    seen = seen[seen.index("<html"):seen.index("</html>")]
    assert "<title>A conversation with tools</title>" in seen
    assert set(re.findall(r"<([a-z0-9]+)", seen)) == set(
        "html head meta title style body h1 details summary pre".split())
    for text in hostile:
        assert html.escape(toolreg._seen(text, len(text)), quote=False) in seen, text[:80]


def test_a_page_can_be_read_in_the_light_and_in_the_dark_on_a_phone_and_on_a_wide_screen(
        node, node_modules, chromium, tmp_path):
    picture = ("data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
               "awAAAABJRU5ErkJggg==")
    talk = [*conversation("get_weather", "call_1", "北京 " + "long" * 200), *conversation("x" * 60, "y" * 60, "a word"),
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": picture}}]}]
    page = tmp_path / "page.html"
    page.write_text(toolreg.trace(talk, style="html"), "utf-8")
    script = pathlib.Path(__file__).with_name("page_look.cjs")
    done = subprocess.run([node, script, node_modules, chromium, tmp_path, page], capture_output=True, encoding="utf-8",
                          timeout=120)
    assert done.returncode == 0 and not done.stderr, done.stderr
    seen = json.loads(done.stdout)
    assert [(each["scheme"], each["width"]) for each in seen] == [
        ("light", 320), ("light", 1400), ("dark", 320), ("dark", 1400)]
    assert all(each["overflow"] <= 0 and each["contrast"] >= 4.5 for each in seen), seen
    assert (tmp_path / "light-1400.png").read_bytes() != (tmp_path / "dark-1400.png").read_bytes()


@pytest.fixture(scope="module")
def drawings(node, node_modules, chromium):
    talks = [conversation(text, "c1", "fine") for text in HOSTILE] + [
        conversation("fine", text, "fine") for text in HOSTILE
    ]
    talks += [conversation("fine", "c1", text) for text in HOSTILE]
    diagrams = [toolreg.trace(talk, style="mermaid") for talk in talks]
    return dict(zip(diagrams, draw(diagrams, node, node_modules, chromium)))


@pytest.mark.parametrize("place", ["name", "id", "text"])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_is_drawn_as_what_it_is(drawings, hostile, place):
    name, call_id, text = (
        ("fine" if place != "name" else hostile),
        ("c1" if place != "id" else hostile),
        ("fine" if place != "text" else hostile),
    )
    talk = conversation(name, call_id, text)
    name = next(each for message in talk for each in message.get("tool_calls") or ())["function"]["name"]
    drawn = drawings[toolreg.trace(talk, style="mermaid")]
    assert "error" not in drawn, drawn
    assert not {"script", "img", "a", "b", "foreignobject", "iframe"} & set(drawn["elements"])
    id, name, text, arguments = map(shown, (call_id, name, text, json.dumps({"x": text}, ensure_ascii=False)))
    wrong_id, error = shown("w" + call_id), shown("Error: " + text)
    assert [flat(each) for each in drawn["texts"]["messageText"]] == [
        text,
        f"{id}: {name} {arguments}",
        f"{wrong_id}: {name} {{}}",
        arguments,
        text,
        f"tool message {id}",
        f"tool message {wrong_id}: {error}",
        text,
    ]
    assert [flat(each) for each in drawn["texts"]["noteText"]] == [text, f"because: {text}"]
    assert {flat(each) for each in drawn["texts"]["actor"]} == {"user", "model", "registry", name}


def test_lines_stay_lines_and_nothing_is_drawn_as_such(node, node_modules, chromium):
    talk = [
        {"role": "user", "content": "one\ntwo  \n\n    U->>M: forged"},
        *toolreg.build_assistant_messages([toolreg.ToolCall("", "", "")]),
        {"role": "tool", "tool_call_id": "", "content": " \n "},
    ]
    (drawn,) = draw([toolreg.trace(talk, style="mermaid")], node, node_modules, chromium)
    assert "".join(map(flat, drawn["texts"]["messageText"])).startswith("onetwoU->>M: forged")
    assert (
        drawn["texts"]["messageText"].count("(nothing)") == 2
    )  # the arguments, since the id is not there, and the answer
