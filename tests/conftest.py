"""Fixtures that the tests of the Python package share."""

from __future__ import annotations

from typing import Any

import pytest

SHARED = ("ntuple_library", "ntuples_made")
"""What takes a minute and more to make, and is for several files."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With several processes (`-n 2 --dist loadgroup`) the tests of a file stay together, and those of files that
    share what takes long to make."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    together = {item.path for item in items if not set(SHARED).isdisjoint(getattr(item, "fixturenames", ()))}
    for item in items:
        item.add_marker(pytest.mark.xdist_group("shared" if item.path in together else item.path.stem))


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
