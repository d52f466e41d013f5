"""`executor=` with real executors: processes, and a local cluster of dask.distributed."""
import asyncio
import contextlib
import dataclasses
import datetime
import multiprocessing
import os
import threading
import time
from concurrent.futures import ProcessPoolExecutor

import dask
import distributed
import pytest

import toolreg
from toolreg import ToolError, ToolMetadata, ToolRegistry, ToolTimeoutError


# --- tools, importable by the workers
def double(x: int) -> dict[str, int]:
    return {"twice": 2 * x, "process": os.getpid()}


def refuse(x: int) -> int:
    raise ToolError(f"no {x} today")


def fail(x: int) -> int:
    raise KeyError(f"{x} is bad")


def stop(x: int) -> int:
    raise StopIteration(x)


def nap(seconds: float) -> str:
    time.sleep(seconds)
    return "awake"


def unpicklable() -> object:
    return threading.Lock()


def die(note: str) -> str:
    with open(note, "a") as file:
        file.write("ran\n")
    os._exit(3)


async def double_async(x: int) -> dict[str, int]:
    await asyncio.sleep(0.01)
    return double(x)


async def count_to(n: int):
    for number in range(n):
        yield number


@dataclasses.dataclass
class Order:
    pieces: int
    until: datetime.date


def price_of(order: Order, tax: float) -> list[float]:
    return [order.pieces * tax, order.until.year]


# --- executors
@contextlib.contextmanager
def processes():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@contextlib.contextmanager
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 2, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(silence_logs=50, **options) as local, distributed.Client(local) as client:
        with client.get_executor() as executor:
            yield executor


@pytest.fixture(scope="module", params=[processes, cluster], ids=["processes", "dask"])
def executor(request):
    with request.param() as made:
        yield made


def registry_of(executor, *tools):
    registry = ToolRegistry(executor=executor)
    for tool in tools:
        registry.register(tool)
    return registry


def calls_of(name, *arguments):
    return [toolreg.ToolCall(f"call_{number}", name, each) for number, each in enumerate(arguments)]


def test_a_hundred_calls_run_elsewhere_and_keep_their_order(executor):
    registry = registry_of(executor, double)
    results = registry.execute_tool_calls(calls_of("double", *({"x": n} for n in range(100))))
    assert [result.value["twice"] for result in results] == [2 * n for n in range(100)]
    assert [result.tool_call_id for result in results] == [f"call_{n}" for n in range(100)]
    assert os.getpid() not in {result.value["process"] for result in results}


def test_a_hundred_calls_run_elsewhere_from_async_code_too(executor):
    registry = registry_of(executor, double)
    results = asyncio.run(registry.aexecute_tool_calls(calls_of("double", *({"x": n} for n in range(100)))))
    assert [result.value["twice"] for result in results] == [2 * n for n in range(100)]
    assert os.getpid() not in {result.value["process"] for result in results}


def test_the_executor_of_one_batch_is_used_for_that_batch(executor):
    registry = registry_of(None, double)
    there = registry.execute_tool_calls(calls_of("double", {"x": 1}, {"x": 2}), executor=executor)
    here = registry.execute_tool_calls(calls_of("double", {"x": 1}, {"x": 2}))
    assert os.getpid() not in {result.value["process"] for result in there}
    assert {result.value["process"] for result in here} == {os.getpid()}


def test_errors_come_back_as_they_do_without_an_executor(executor):
    calls = [*calls_of("refuse", {"x": 1}), *calls_of("fail", {"x": 2}), *calls_of("stop", {"x": 3}),
             *calls_of("double", {"x": "many"}), *calls_of("nobody", {})]
    there = registry_of(executor, refuse, fail, stop, double).execute_tool_calls(calls)
    here = registry_of(None, refuse, fail, stop, double).execute_tool_calls(calls)
    assert there == here and all(result.is_error for result in here)
    assert [type(result.error) for result in there] == [type(result.error) for result in here]


def test_async_tools_and_generators_run_elsewhere(executor):
    registry = registry_of(executor, double_async, count_to)
    doubled, counted = registry.execute_tool_calls(
        [*calls_of("double_async", {"x": 4}), *calls_of("count_to", {"n": 3})])
    assert doubled.value["twice"] == 8 and doubled.value["process"] != os.getpid()
    assert counted.value == [0, 1, 2]


def test_a_timeout_is_kept_and_the_neighbours_are_unharmed(executor):
    registry = registry_of(executor, double)
    registry.register(nap, metadata=ToolMetadata(timeout=0.5))
    registry.execute_tool_calls(calls_of("double", *({"x": n} for n in range(8))))      # the workers are there now
    start = time.monotonic()
    results = registry.execute_tool_calls([*calls_of("nap", {"seconds": 3}), *calls_of("double", {"x": 1}, {"x": 2})])
    assert time.monotonic() - start < 2.5
    assert isinstance(results[0].error, ToolTimeoutError) and "0.5 seconds" in results[0].content
    assert [result.value["twice"] for result in results[1:]] == [2, 4]


def test_a_result_that_cannot_travel_is_one_error_and_the_executor_lives_on(executor):
    registry = registry_of(executor, unpicklable, double)
    bad, good = registry.execute_tool_calls([*calls_of("unpicklable", {}), *calls_of("double", {"x": 3})])
    assert bad.is_error and "unpicklable" in bad.content
    assert good.value["twice"] == 6
    assert registry.invoke("double", {"x": 5}).value["twice"] == 10


def test_converted_and_injected_values_travel(executor):
    registry = ToolRegistry(executor=executor)
    registry.register(price_of, inject={"tax": 1.5})
    result = registry.invoke("price_of", {"order": {"pieces": "4", "until": "2026-11-30"}})
    assert result.value == [6.0, 2026]


def test_a_dask_worker_that_dies_is_one_error_what_it_did_may_be_repeated_and_the_cluster_goes_on(tmp_path):
    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), cluster() as executor:
        registry = registry_of(executor, die, double)
        result = registry.invoke("die", {"note": str(tmp_path / "note")})
        assert result.is_error and '"die"' in result.content and "KilledWorker" in result.content
        assert 1 <= len((tmp_path / "note").read_text().splitlines()) <= 2
        assert registry.invoke("double", {"x": 2}).value["twice"] == 4


def test_a_process_that_dies_is_one_error_and_the_pool_stays_broken_and_says_so(tmp_path):
    with processes() as executor:
        registry = registry_of(executor, die, double)
        assert registry.invoke("die", {"note": str(tmp_path / "note")}).is_error
        result = registry.invoke("double", {"x": 2})
    assert result.is_error and "BrokenProcessPool" in result.content
    assert (tmp_path / "note").read_text() == "ran\n"
