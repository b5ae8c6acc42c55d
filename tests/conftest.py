"""Fixtures that the tests of the Python package share."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    uproot = pytest.importorskip("uproot")
    np = pytest.importorskip("numpy")
    pytest.importorskip("awkward")
    from support import samples

    place = tmp_path_factory.mktemp("python") / "events.root"
    data = samples.content()
    with uproot.recreate(place) as file:
        file.mkdir("folder")
        file["folder/text"] = "hello"
        file["h"] = np.histogram(data["x"], bins=20)
        samples.write(file, "folder/tree", data, samples.BASKET)
        samples.write(file, "other", {"a": np.arange(5)})
    return str(place)


@pytest.fixture
def tree(path: str) -> Any:
    return pytest.importorskip("sapwood").open(path)["folder/tree"]


@pytest.fixture
def theirs(path: str) -> Any:
    return pytest.importorskip("uproot").open(path)["folder/tree"]


pytest_plugins = ["support.browser", "support.c_library", "support.jsroot", "support.ntuples"]
