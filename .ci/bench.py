"""Measure toolreg against the floor, in one run: python .ci/bench.py [--quick] [--check]

The floor is what nobody can go below in Python: `inspect.signature`, `typing.get_type_hints` and `inspect.getdoc` for a
schema; `json.loads`, the call, `json.dumps` and a dict for a tool call; checks written by hand for a validator.
It is timed right before and right after each sample; a figure is the median of these paired ratios, so the
machine's own changes of speed cancel. The exit status is 0 even where a target is missed, unless --check is given.
"""
import asyncio
import contextlib
import gc
import inspect
import json
import os
import pathlib
import py_compile
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
import types
import typing
from dataclasses import dataclass
from typing import Any, Literal, Optional, TypedDict

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
import toolreg  # noqa: E402

QUICK = "--quick" in sys.argv
ROUNDS = 7 if QUICK else 41
BATCH = 0.004               # seconds that one timed batch lasts, about


# --- the work
def get_weather(city: str) -> str:
    """Get the current weather for a city."""
    return "Sunny in " + city


def find_trains(start: str, end: str, max_price: float = 99.0, direct: bool = False) -> dict[str, Any]:
    """Find trains between two stations.

    Args:
        start: Station to leave from.
        end: Station to arrive at.
        max_price: Highest price in euros.
        direct: Whether only trains without a change are wanted.
    """
    return {"start": start, "end": end, "max_price": max_price, "direct": direct}


@dataclass
class Place:
    street: str
    town: str
    postcode: Optional[str] = None


@dataclass
class Guest:
    name: str
    email: str
    age: int
    home: Place


def book_rooms(guest: Guest, rooms: list[dict[str, Any]], board: Literal["none", "half", "full"] = "none",
               floor: Optional[int] = None, wishes: Optional[list[str]] = None) -> dict[str, Any]:
    """Book rooms for a guest.

    Args:
        guest: Who stays.
        rooms: One object per room.
        board: Which meals are wanted.
        floor: The floor that is preferred.
        wishes: Free text.
    """
    name = guest["name"] if isinstance(guest, dict) else guest.name
    return {"guest": name, "rooms": len(rooms), "board": board, "floor": floor, "wishes": wishes}


async def get_weather_async(city: str) -> str:
    """Get the current weather for a city."""
    return "Sunny in " + city


async def book_rooms_async(guest: Guest, rooms: list[dict[str, Any]], board: Literal["none", "half", "full"] = "none",
                           floor: Optional[int] = None, wishes: Optional[list[str]] = None) -> dict[str, Any]:
    """Book rooms for a guest."""
    return book_rooms(guest, rooms, board, floor, wishes)


BOOKING = {"guest": {"name": "Ada", "email": "ada@example.com", "age": 36,
                     "home": {"street": "12 Mill Lane", "town": "Ely", "postcode": "CB7"}},
           "rooms": [{"kind": "double", "nights": 2, "price": 95.5}, {"kind": "single", "nights": 1, "price": 60.0},
                     {"kind": "double", "nights": 5, "price": 91.25}],
           "board": "half", "floor": 2, "wishes": ["quiet", "a view"]}


def call_of(name, arguments):
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


CALLS = {"simple": call_of("get_weather", {"city": "Paris"}), "complex": call_of("book_rooms", BOOKING)}
FUNCTIONS = {"simple": get_weather, "typical": find_trains, "complex": book_rooms}
ASYNC = {"simple": get_weather_async, "complex": book_rooms_async}


def clone(func, name=None):
    """Make a function object that nothing has seen, so that nothing of it can be cached."""
    new = types.FunctionType(func.__code__, func.__globals__, name or func.__name__, func.__defaults__)
    new.__doc__, new.__module__, new.__annotations__ = func.__doc__, func.__module__, dict(func.__annotations__)
    new.__qualname__ = new.__name__
    return new


# --- timing
def per_call(work):
    """Give seconds per call, from the best of four batches; `work(n)` runs n times and gives the seconds it took."""
    count = 1
    while work(count) < BATCH / 4:
        count *= 2
    gc.collect()
    gc.disable()
    try:
        return min(work(count) for _ in range(4)) / count
    finally:
        gc.enable()


def ratio(work, floor, rounds=ROUNDS):
    """Give (median of paired ratios, median seconds per call)."""
    ratios, times = [], []
    for _ in range(rounds):
        before, mine, after = per_call(floor), per_call(work), per_call(floor)
        ratios.append(mine / ((before + after) / 2))
        times.append(mine)
    return statistics.median(ratios), statistics.median(times)


def repeat(func, *args):
    def work(count):
        start = time.perf_counter()
        for _ in range(count):
            func(*args)
        return time.perf_counter() - start
    return work


def repeat_async(func, *args):
    loop = asyncio.new_event_loop()

    async def many(count):
        start = time.perf_counter()
        for _ in range(count):
            await func(*args)
        return time.perf_counter() - start
    return lambda count: loop.run_until_complete(many(count))


# --- what is measured: each yields (what, figure, target, unit, note)
def measure_import():
    """In new processes, with .pyc files."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "toolreg.py")
        path.write_bytes((ROOT / "toolreg.py").read_bytes())
        py_compile.compile(str(path), doraise=True)

        def timed(code):
            script = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
            done = subprocess.run([sys.executable, "-S", "-c", script], check=True, cwd=folder, capture_output=True,
                                  env={"PYTHONPATH": folder}, text=True)
            return float(done.stdout)

        floor_code, ratios, times = "import inspect, typing, json", [], []
        timed("import toolreg")                 # the first reads the file from disk
        for _ in range(ROUNDS):
            before, mine, after = timed(floor_code), timed("import toolreg"), timed(floor_code)
            ratios.append(mine / ((before + after) / 2))
            times.append(mine)
    yield "import", statistics.median(ratios), 1.3, "x", f"{statistics.median(times) * 1e3:.1f} ms"


def schema_floor(func):
    properties, required, hints = {}, [], typing.get_type_hints(func)
    for name, parameter in inspect.signature(func).parameters.items():
        properties[name] = {"type": {str: "string", bool: "boolean", float: "number"}.get(hints[name], "object")}
        if parameter.default is parameter.empty:
            required.append(name)
    return {"type": "function", "function": {"name": func.__name__, "description": inspect.getdoc(func), "parameters": {
        "type": "object", "properties": properties, "required": required}}}


def schema_of_new(func):
    registry = toolreg.ToolRegistry()
    registry.register(func)
    return registry.get_schemas()


def measure_schemas():
    def cold(make, func):
        def work(count):
            clones = [clone(func) for _ in range(count)]
            start = time.perf_counter()
            for each in clones:
                make(each)
            return time.perf_counter() - start
        return work
    for what, target in (("simple", 1.6), ("typical", 1.6), ("complex", 2.0)):
        func = FUNCTIONS[what]
        figure, seconds = ratio(cold(schema_of_new, func), cold(schema_floor, func))
        yield f"schema from a function, {what}", figure, target, "x", f"{seconds * 1e6:.1f} µs"


def dispatch_floor(functions, call):
    function = call["function"]
    value = functions[function["name"]](**json.loads(function["arguments"]))
    content = value if type(value) is str else json.dumps(value)
    return [{"role": "tool", "tool_call_id": call["id"], "name": function["name"], "content": content}]


def registry_of(func, name):
    registry = toolreg.ToolRegistry()
    registry.register(func, name=name)
    return registry


def measure_dispatch():
    functions = {func.__name__: func for func in FUNCTIONS.values()}
    for what, sync_target, async_target in (("simple", 2.2, 2.5), ("complex", 1.6, 1.8)):
        call, name = CALLS[what], CALLS[what]["function"]["name"]
        floor = repeat(dispatch_floor, functions, call)
        registry = registry_of(FUNCTIONS[what], name)
        expected = dispatch_floor(functions, call)[0]["content"]
        assert registry.respond([call])[0]["content"] == expected, registry.respond([call])
        figure, seconds = ratio(repeat(registry.respond, [call]), floor)
        yield f"dispatch, sync, {what}", figure, sync_target, "x", f"{seconds * 1e6:.1f} µs"
        registry = registry_of(ASYNC[what], name)
        assert asyncio.run(registry.arespond([call]))[0]["content"] == expected
        figure, seconds = ratio(repeat_async(registry.arespond, [call]), floor)
        yield f"dispatch, async, {what}", figure, async_target, "x", f"{seconds * 1e6:.1f} µs"


TEXT = {"type": "string"}
SCHEMAS = {
    "simple": {"type": "object", "properties": {"city": TEXT}, "required": ["city"]},
    "nested": {"type": "object", "required": ["guest", "rooms"], "properties": {
        "guest": {"type": "object", "required": ["name", "email", "age", "home"], "properties": {
            "name": {"type": "string", "minLength": 1}, "email": {"type": "string", "minLength": 3},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "home": {"type": "object", "required": ["street", "town"], "properties": {
                "street": TEXT, "town": TEXT, "postcode": {"anyOf": [TEXT, {"type": "null"}]}}}}},
        "rooms": {"type": "array", "items": {"type": "object", "required": ["kind", "nights", "price"], "properties": {
            "kind": TEXT, "nights": {"type": "integer", "minimum": 1}, "price": {"type": "number"}}}},
        "board": {"enum": ["none", "half", "full"]}, "floor": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "wishes": {"anyOf": [{"type": "array", "items": TEXT}, {"type": "null"}]}}},
    "1,000 objects": {"type": "object", "required": ["rows"], "properties": {"rows": {"type": "array", "items": {
        "type": "object", "required": ["id", "name", "score", "active"], "properties": {
            "id": {"type": "integer"}, "name": TEXT, "score": {"type": "number"}, "active": {"type": "boolean"}}}}}},
}
INSTANCES = {"simple": {"city": "Paris"}, "nested": BOOKING, "1,000 objects": {"rows": [
    {"id": n, "name": f"row {n}", "score": n / 2, "active": n % 2 == 0} for n in range(1000)]}}


def is_place(value):
    return (type(value) is dict and type(value.get("street")) is str and type(value.get("town")) is str
            and (value.get("postcode") is None or type(value["postcode"]) is str))


def is_guest(value):
    return (type(value) is dict and type(value.get("name")) is str and len(value["name"]) >= 1
            and type(value.get("email")) is str and len(value["email"]) >= 3
            and type(value.get("age")) is int and 0 <= value["age"] <= 150 and is_place(value.get("home")))


def is_room(value):
    return (type(value) is dict and type(value.get("kind")) is str and type(value.get("nights")) is int
            and value["nights"] >= 1 and type(value.get("price")) in (float, int))


def is_row(value):
    return (type(value) is dict and type(value.get("id")) is int and type(value.get("name")) is str
            and type(value.get("score")) in (float, int) and type(value.get("active")) is bool)


def is_booking(value):
    if type(value) is not dict or not is_guest(value.get("guest")) or type(value.get("rooms")) is not list:
        return False
    for room in value["rooms"]:
        if not is_room(room):
            return False
    wishes = value.get("wishes")
    return (value.get("board", "none") in ("none", "half", "full") and type(value.get("floor")) in (int, type(None))
            and (wishes is None or type(wishes) is list and all(type(wish) is str for wish in wishes)))


def are_rows(value):
    if type(value) is not dict or type(value.get("rows")) is not list:
        return False
    for row in value["rows"]:
        if not is_row(row):
            return False
    return True


BY_HAND = {"simple": lambda value: type(value) is dict and type(value.get("city")) is str, "nested": is_booking,
           "1,000 objects": are_rows}


def pydantic_checks():
    """The same three as pydantic's TypeAdapters in strict mode, where pydantic is installed."""
    try:
        import pydantic
    except ImportError:
        return None
    from typing_extensions import NotRequired
    text, number = str, typing.Annotated[int, pydantic.Field(ge=0, le=150)]
    place = TypedDict("Place", {"street": str, "town": str, "postcode": NotRequired[Optional[str]]})
    guest = TypedDict("Guest", {"name": typing.Annotated[str, pydantic.Field(min_length=1)], "age": number,
                                "email": typing.Annotated[str, pydantic.Field(min_length=3)], "home": place})
    room = TypedDict("Room", {"kind": text, "nights": typing.Annotated[int, pydantic.Field(ge=1)], "price": float})
    booking = TypedDict("Booking", {
        "guest": guest, "rooms": list[room], "board": NotRequired[Literal["none", "half", "full"]],
        "floor": NotRequired[Optional[int]], "wishes": NotRequired[Optional[list[str]]]})
    row = TypedDict("Row", {"id": int, "name": str, "score": float, "active": bool})
    models = {"simple": TypedDict("City", {"city": str}), "nested": booking,
              "1,000 objects": TypedDict("Rows", {"rows": list[row]})}
    return {what: pydantic.TypeAdapter(model).validate_python for what, model in models.items()}


def measure_validation():
    peers = pydantic_checks()
    for what, target in (("simple", 1.0), ("nested", 1.3), ("1,000 objects", 1.0)):
        schema, instance = SCHEMAS[what], INSTANCES[what]
        check = toolreg.Validator(schema).is_valid
        assert check(instance) and BY_HAND[what](instance)
        figure, seconds = ratio(repeat(check, instance), repeat(BY_HAND[what], instance))
        yield f"validation, {what}, against checks by hand", figure, None, "x", f"{seconds * 1e6:.2f} µs"
        if peers:
            figure, _ = ratio(repeat(check, instance), repeat(peers[what], instance))
            yield f"validation, {what}, against pydantic's Rust", figure, target, "x", ""
    seconds = statistics.median(per_call(repeat(toolreg.Validator, SCHEMAS["nested"])) for _ in range(ROUNDS))
    yield "compiling the nested schema", seconds * 1e3, 0.3, "ms", ""


def measure_parallel():
    def nap(seconds: float) -> str:
        time.sleep(seconds)
        return "ok"

    async def anap(seconds: float) -> str:
        await asyncio.sleep(seconds)
        return "ok"

    calls = [{**call_of("nap", {"seconds": 0.05}), "id": f"call_{n}"} for n in range(32)]
    rounds = 3 if QUICK else 9
    sync, not_sync = registry_of(nap, "nap"), registry_of(anap, "nap")
    times = [repeat(sync.respond, calls)(1) for _ in range(rounds)]
    yield "32 calls of 50 ms in one turn, sync", statistics.median(times) * 1e3, 60, "ms", "50 would be ideal"
    work = repeat_async(not_sync.arespond, calls)
    times = [work(1) for _ in range(rounds)]
    yield "32 calls of 50 ms in one turn, async", statistics.median(times) * 1e3, 60, "ms", "50 would be ideal"


def measure_many_tools():
    def registry_with(count):
        registry = toolreg.ToolRegistry()
        for number in range(count):
            registry.register(clone(find_trains, f"find_trains_{number}"))
        return registry

    call = call_of("find_trains_7", {"start": "Ely", "end": "York"})
    few = registry_with(10)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    many = registry_with(5000)
    bytes_per_tool = (tracemalloc.get_traced_memory()[0] - before) / 5000
    tracemalloc.stop()
    figure, _ = ratio(repeat(many.respond, [call]), repeat(few.respond, [call]))
    yield "dispatch with 5,000 tools, against 10 tools", figure, 1.2, "x", ""
    first, again = repeat(many.get_schemas)(1), repeat(many.get_schemas)(1)
    few.get_schemas()
    per_tool = per_call(repeat(few.get_schemas)) / 10
    yield "get_schemas of 5,000 tools, per tool against 10 tools", again / 5000 / per_tool, None, "x", \
        f"first {first * 1e3:.0f} ms, then {again * 1e3:.0f} ms"
    yield "memory per tool", bytes_per_tool / 1024, None, "KiB", ""


def main():
    measures = [measure_import, measure_schemas, measure_dispatch, measure_validation, measure_parallel,
                measure_many_tools]
    print(f"toolreg {toolreg.__version__} on Python {sys.version.split()[0]}, {os.cpu_count()} cores, {ROUNDS} rounds; "
          "x = times the floor, median of paired ratios\n")
    print("| what | figure | target | met | |\n|---|---:|---:|---|---|")
    missed: dict[str, None] = {}
    for measure in measures:
        for what, figure, target, unit, note in measure():
            met = "" if target is None else "yes" if figure <= target else "no"
            if met == "no":
                missed[what.rpartition(", ")[0] or what] = None
            goal = "" if target is None else f"{target:g} {unit}"
            print(f"| {what} | {figure:.2f} {unit} | {goal} | {met} | {note} |", flush=True)
    print(f"\nmissed: {'; '.join(missed)}" if missed else "\nall targets met")
    return int(bool(missed) and "--check" in sys.argv)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
