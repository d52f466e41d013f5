"""Fixtures that lead to the real counterparts, which `.ci/run` sets up under TOOLREG_CI_DIR. What is missing fails."""
import os
import pathlib
import shutil

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"


def set_up(*parts):
    path = pathlib.Path(os.environ.get("TOOLREG_CI_DIR", ""), *parts)
    if "TOOLREG_CI_DIR" not in os.environ or not path.exists():
        pytest.fail(f"{path} is not there: run `bash .ci/run interop` with TOOLREG_CI_DIR set to a folder that is kept")
    return path


@pytest.fixture(scope="session")
def node_modules():
    return set_up("npm", "node_modules")


@pytest.fixture(scope="session")
def node():
    return str(set_up("npm", "node_modules", ".bin", "node"))


@pytest.fixture(scope="session")
def mcp1_python():
    return str(set_up("mcp1", "bin", "python"))


@pytest.fixture(scope="session")
def chromium():
    found = shutil.which("chromium")
    return found or pytest.fail("chromium is not there: apt-get install chromium")


@pytest.fixture(scope="session")
def shared():
    return SHARED


def pytest_collection_modifyitems(config, items):
    """Leave out what needs ../shared where it is not there; the closing line counts it as deselected."""
    if not SHARED.is_dir():
        left_out = [item for item in items if "shared" in getattr(item, "fixturenames", ())]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
        print(f"\nleft out, since ../shared is not there: {', '.join(item.name for item in left_out) or 'nothing'}")
