"""The readers under test, behind one small face.

`sapwood` is the one that counts. `uproot` stands in for it to prove that the comparison itself is right: a
difference between uproot and a truth that uproot made would be a mistake of these tests.
"""

from __future__ import annotations

from typing import Any

from support.parts import array_parts


class Reader:
    name = "?"
    ranges = True
    """Check ranges of entries too."""

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

    def values(self, branch: Any, start: int | None = None, stop: int | None = None) -> Any:
        """The branch, or a range of its entries, as an Awkward Array."""
        if start is None:
            return branch.array(library="ak")
        return branch.array(library="ak", entry_start=start, entry_stop=stop)

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
    ranges = False

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


def wrong_range(reader: Reader, branch: Any, whole: Any) -> str:
    """Two ranges of entries must be slices of the whole; one of them usually begins and ends inside a basket."""
    n = len(whole)
    for start, stop in ((n // 3, n - n // 4), (n - 1, n)):
        if not 0 <= start < stop or n < 2:
            continue
        try:
            ours = reader.values(branch, start, stop)
        except Exception as e:
            return f"entries {start}:{stop}: {type(e).__name__}: {e}"[:300]
        told = whole[start:stop]
        if ours.layout.form != told.layout.form:
            # of objects behind pointers, only those of the range give the array its type
            if ours.to_list() != told.to_list():
                return f"entries {start}:{stop} are not those of the whole"
            continue
        for a, b in zip(array_parts(ours), array_parts(told)):
            if (a.path, a.kind, a.dtype, a.n, a.sha256) != (b.path, b.kind, b.dtype, b.n, b.sha256):
                return (
                    f"entries {start}:{stop}: {a.kind} {a.path}: {a.n} {a.head}, the whole has {b.n} {b.head}"
                )
    return ""


READERS = {"sapwood": Sapwood, "uproot": Uproot}
