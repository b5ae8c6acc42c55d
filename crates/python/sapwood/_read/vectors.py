"""ROOT's classes of vectors, with the methods of the package ``vector``."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np

from sapwood.errors import MismatchError

_CLASS = re.compile(
    r"(TLorentzVector|TVector[23])$|ROOT::Math::(Lorentz|Displacement|Position)Vector(2D|3D)?\s*<"
)
#: Classes by the names of their numbers: which class of `vector` that is, and its names for them.
_COORDINATES: dict[frozenset[str], tuple[str, dict[str, str]]] = {
    frozenset(names.split()): (kind, dict(zip(names.split(), coordinates.split())))
    for names, kind, coordinates in (
        ("fX fY fZ fE", "Momentum4D", "x y z t"),
        ("fX fY fZ fT", "Momentum4D", "x y z t"),
        ("fX fY fZ fM", "Momentum4D", "x y z tau"),
        ("fPt fEta fPhi fE", "Momentum4D", "rho eta phi t"),
        ("fPt fEta fPhi fM", "Momentum4D", "rho eta phi tau"),
        ("fX fY fZ", "3D", "x y z"),
        ("fRho fEta fPhi", "3D", "rho eta phi"),
        ("fRho fZ fPhi", "3D", "rho z phi"),
        ("fR fTheta fPhi", "3D", "r theta phi"),
        ("fX fY", "2D", "x y"),
        ("fR fPhi", "2D", "rho phi"),
    )
}
#: What objects of ROOT have besides.
_OBJECT = {"fUniqueID", "fBits"}


_OF_TWO: tuple[Any, ...] = (np.add, np.subtract, np.equal, np.not_equal, np.matmul)
_OF_ONE: tuple[Any, ...] = (np.negative, np.positive, np.absolute)
_BY_NUMBERS: tuple[Any, ...] = (np.multiply, np.true_divide)


def vectors(array: Any) -> Any:
    """An array in which ROOT's vectors are those of the package `vector <https://vector.readthedocs.io>`__,
    wherever they are in it, and however they were stored: ``TLorentzVector``, ``TVector3``, ``TVector2``, and
    the classes of GenVector (``ROOT::Math::PtEtaPhiMVector``, ``XYZPoint`` ...), whole or split into
    branches. Numbers are shared.

    Arrays of such classes that were read whole have these methods anyway: ``tree["p4"].array().pt``.

    >>> import awkward as ak, sapwood
    >>> momentum = {"fP": {"fX": 3.0, "fY": 4.0, "fZ": 0.0}, "fE": 6.0}
    >>> read = ak.Array([momentum], with_name="TLorentzVector")    # as a branch is read
    >>> vectors(read).pt.tolist()
    [5.0]

    Raises ``ModuleNotFoundError`` with the install line where ``vector`` is missing.
    """
    from sapwood._read.libraries import need

    need("vector", "sapwood.vectors()").register_awkward()
    import awkward as ak

    if isinstance(array, ak.Record):
        whole = vectors(ak.Array(array.layout.array[array.layout.at : array.layout.at + 1]))
        return whole[0]
    if not isinstance(array, ak.Array):
        raise MismatchError(
            f"vectors are in Awkward Arrays, and {type(array).__name__} was given: read with library='ak'"
        )
    found = ak.transform(_convert, array, highlevel=False)
    return ak.Array(found, behavior=array.behavior)


def _convert(layout: Any, **_: Any) -> Any:
    """A node that is a vector, as one of `vector`."""
    if not layout.is_record or layout.is_tuple:
        return None
    name = layout.parameter("__record__")
    if name is not None and not _CLASS.match(name):
        return None
    paths = dict(_numbers(layout, ""))
    if name is None and not any("fCoordinates" in path or path.endswith("fE") for path in paths):
        return None  # numbers of these names, and no class
    numbers = {path.rpartition(".")[2]: content for path, content in paths.items()}
    known = _COORDINATES.get(frozenset(numbers))
    if known is None or len(numbers) != len(paths):
        return None
    kind, coordinates = known
    if not kind.startswith("Momentum"):
        kind = ("Momentum" if name is not None and name.startswith("TVector") else "Vector") + kind
    return _zip(kind, {coordinates[path]: content for path, content in numbers.items()})


def _numbers(layout: Any, path: str) -> Any:
    """The numbers of a record, and of records in it, by their paths; items of lists stay in these."""
    import awkward as ak

    for field in layout.fields:
        content, inner = layout.content(field), f"{path}.{field}"
        last = field.rpartition(".")[2]
        if last in _OBJECT:
            continue
        if content.fields:
            if content.is_record:
                yield from _numbers(content, inner)
            else:  # members of a collection that is split, of a class that is not
                array = ak.Array(content)
                for below in content.fields:
                    yield f"{inner}.{below}", array[below].layout
        else:
            yield inner, content


def _zip(kind: str, numbers: dict[str, Any]) -> Any:
    import awkward as ak

    arrays = {name: ak.Array(content) for name, content in numbers.items()}
    if "r" in arrays:
        arrays["rho"] = arrays.pop("r") * np.sin(arrays["theta"])
    return ak.zip(arrays, with_name=kind, highlevel=False)


# ---- methods of arrays by the names of their classes


def register(classname: str) -> None:
    """Gives arrays of a class the methods of `vector`, if it is a class of vectors."""
    import awkward as ak

    if (classname in _registered) or not _CLASS.match(classname):
        return
    array, record = _classes()
    _registered.add(classname)
    kinds = [f"{kind}{depth}D" for kind in ("Momentum", "Vector") for depth in (2, 3, 4)]
    found: dict[Any, Any] = {("*", classname): array, classname: record}
    for ufunc in _OF_TWO:
        for other in [*_registered, *kinds]:
            found[ufunc, classname, other] = found[ufunc, other, classname] = _computed(ufunc)
    for ufunc in _OF_ONE:
        found[ufunc, classname] = _computed(ufunc)
    for number in (float, int, np.number):
        for ufunc in _BY_NUMBERS:
            found[ufunc, classname, number] = _computed(ufunc)
        found[np.multiply, number, classname] = _computed(np.multiply)
    # What others have said about the class before counts.
    for key, value in found.items():
        ak.behavior.setdefault(key, value)


_registered: set[str] = set()
_made: list[Any] = []


def _computed(ufunc: Any) -> Any:
    def compute(*values: Any) -> Any:
        import awkward as ak

        return ufunc(
            *(vectors(value) if isinstance(value, (ak.Array, ak.Record)) else value for value in values)
        )

    return compute


def _call(method: Any, *arguments: Any, **options: Any) -> Any:
    """Calls a method of `vector` with arguments of ROOT's classes."""
    return method(*map(_known, arguments), **{name: _known(value) for name, value in options.items()})


def _known(value: Any) -> Any:
    return vectors(value) if isinstance(value, tuple(_made)) else value


def _classes() -> Any:
    if not _made:
        import awkward as ak

        class VectorMethods:
            """What a class of ROOT does not have, `vector` may have."""

            def __getattr__(self, name: str) -> Any:
                try:
                    return super().__getattr__(name)  # type: ignore[misc]
                except AttributeError as error:
                    if name.startswith("_"):
                        raise
                    try:
                        found = vectors(self)
                    except ModuleNotFoundError as missing:
                        raise AttributeError(f"{error}; {missing}") from None
                    if type(found) is type(self):
                        raise
                    value = getattr(found, name)
                    return functools.partial(_call, value) if hasattr(value, "__func__") else value

        _made.extend(
            type(f"Vectors{base.__name__}", (VectorMethods, base), {}) for base in (ak.Array, ak.Record)
        )
    return _made


__all__ = ["register", "vectors"]
