"""The readers under test, behind one small face.

`sapwood` is the one that counts. `uproot` stands in for it to prove that the comparison itself is right: a difference
between uproot and a truth that uproot made would be a mistake of these tests.
"""

from __future__ import annotations

from typing import Any


class Reader:
    name = "?"
    reads_rntuple = False

    def open(self, path: str) -> Any:
        raise NotImplementedError

    def keys(self, f: Any) -> list[tuple[str, int, str]]:
        """Every key of every directory: path, cycle, class."""
        out = []
        for key, classname in f.classnames().items():
            path, _, cycle = key.rpartition(";")
            out.append((path, int(cycle), classname))
        return out

    def records(self, f: Any) -> list[dict[str, Any]] | None:
        """Seek, nbytes and objlen of each key, where the reader tells them."""
        return None

    def values(self, branch: Any) -> Any:
        """The whole branch as an Awkward Array."""
        return branch.array(library="ak")

    def objects(self, branch: Any) -> Any | None:
        """The branch as Python objects where no Awkward Array can hold it (None: this reader has no such fallback)."""
        return None

    def excused(self, truth: dict[str, Any]) -> bool:
        """Is a failure at this item expected of this reader by the truth itself?"""
        return False


class Sapwood(Reader):
    name = "sapwood"

    def __init__(self) -> None:
        import sapwood

        self.module = sapwood

    def open(self, path: str) -> Any:
        return self.module.open(path)

    def records(self, f: Any) -> list[dict[str, Any]] | None:
        offered = getattr(getattr(f, "_file", None), "records", None)
        if offered is None:
            return None
        return [
            dict(r) if isinstance(r, dict) else {k: getattr(r, k) for k in dir(r) if not k.startswith("_")}
            for r in offered()
        ]


class Uproot(Reader):
    name = "uproot"
    reads_rntuple = True

    def __init__(self) -> None:
        import uproot

        self.module = uproot

    def open(self, path: str) -> Any:
        return self.module.open(path)

    def objects(self, branch: Any) -> Any:
        return branch.array(library="np")

    def excused(self, truth: dict[str, Any]) -> bool:
        told = truth.get("uproot", {"status": "absent" if truth.get("only_root") else "ok"}).get("status")
        return (
            told in ("error", "absent", "crash", "timeout", "uninterpretable") or truth.get("trust") == "root"
        )


READERS = {"sapwood": Sapwood, "uproot": Uproot}
