"""Putting fields together: lists of equal lengths, or of one collection, become one array of records."""

from __future__ import annotations

from typing import Any

import numpy as np

_SEPARATORS = "_./"


def common_prefix(names: list[str]) -> str:
    """What all names begin with, up to and with a separator.

    >>> common_prefix(["Muon_pt", "Muon_eta"]), common_prefix(["pt", "eta"])
    ('Muon_', '')
    """
    first = names[0]
    cut = len(first)
    for name in names:
        cut = min(cut, len(name))
        while cut > 0 and (name[:cut] != first[:cut] or name[cut - 1] not in _SEPARATORS):
            cut -= 1
    return first[:cut]


def zip_arrays(arrays: dict[str, Any], outputs: Any) -> Any:
    """Lists of the same lengths are zipped, as uproot does it: named by what their names have in common."""
    import awkward as ak

    jagged = {
        output.name: arrays[output.name]
        for output in outputs
        if (
            output.branch.interpretation.is_jagged
            if output.branch is not None
            else _is_list(arrays[output.name])
        )
    }
    fields = {name: array for name, array in arrays.items() if name not in jagged}
    groups: list[tuple[Any, list[str]]] = []
    for name, array in jagged.items():
        offsets = np.asarray(array.layout.to_ListOffsetArray64(True).offsets)
        for known, names in groups:
            if np.array_equal(known, offsets):
                names.append(name)
                break
        else:
            groups.append((offsets, [name]))
    for number, (_, names) in enumerate(groups):
        prefix = common_prefix(names)
        whole = prefix.strip(_SEPARATORS)
        if not whole or whole in fields:
            prefix, whole = "", f"jagged{number}"
        fields[whole] = ak.zip({name[len(prefix) :].strip(_SEPARATORS): jagged[name] for name in names})
    return _table(fields)


def collect_records(arrays: dict[str, Any], outputs: Any) -> Any:
    """Fields of one collection become one array of records; offsets and values are shared with the fields.

    A collection is a branch with others below it (``std::vector<Track>``, ``TClonesArray``), or all branches
    that the same branch counts (``nMuon`` for ``Muon_pt``). It is named after the branch, or after what the
    names have in common, or after the counter without its leading ``n``.
    """
    members: dict[int, list[Any]] = {}
    keys: dict[str, int] = {}
    for output in outputs:
        key = _collection(output)
        if key is not None and _is_list(arrays[output.name]):
            members.setdefault(key, []).append(output)
            keys[output.name] = key
    fields: dict[str, Any] = {}
    taken = {output.name for output in outputs if output.name not in keys}
    done: set[int] = set()
    for output in outputs:
        key = keys.get(output.name)
        if key is None:
            fields[output.name] = arrays[output.name]
        elif key not in done:
            done.add(key)
            name, inner = _name_output(members[key], key, taken)
            taken.add(name)
            fields[name] = _records({field: arrays[one.name] for field, one in inner.items()})
    return _table(fields)


def _collection(output: Any) -> int | None:
    """Number of the branch that a field's collection belongs to."""
    branch = output.branch
    if branch is None:
        return None
    above = branch
    while above is not None:
        if above._row["element_kind"] in (3, 4) and above != branch:
            return int(above._id)
        above = above._parent
    counter = branch.count_branch
    return None if counter is None else int(counter._id)


def _name_output(outputs: list[Any], key: int, taken: set[str]) -> tuple[str, dict[str, Any]]:
    owner = outputs[0].branch._tree._branch(key)
    names = [output.name for output in outputs]
    if owner._below:
        name = owner.name.rstrip(".")
        prefix = owner.name.rstrip(".") + "."
        inner = {one.removeprefix(prefix): output for one, output in zip(names, outputs)}
    else:
        prefix = common_prefix(names)
        counter = owner.name
        name = prefix.strip(_SEPARATORS)
        if not name:
            name = counter[1:] if counter[:1] in "nN" and len(counter) > 1 else counter
            name = name.strip(_SEPARATORS) or counter
        inner = {one[len(prefix) :].strip(_SEPARATORS): output for one, output in zip(names, outputs)}
    if name in taken:
        name = owner.name if owner.name not in taken else f"{name}_items"
    return name, inner


def _is_list(array: Any) -> bool:
    return getattr(array.layout, "is_list", False) and array.layout.parameter("__array__") is None


def _records(fields: dict[str, Any]) -> Any:
    import awkward as ak

    layouts = {name: array.layout.to_ListOffsetArray64(True) for name, array in fields.items()}
    offsets = [np.asarray(layout.offsets) for layout in layouts.values()]
    if any(not np.array_equal(one, offsets[0]) for one in offsets[1:]):
        return ak.zip(fields, depth_limit=2)
    first = next(iter(layouts.values()))
    total = int(offsets[0][-1])
    inner = [layout.content[:total] for layout in layouts.values()]
    record = ak.contents.RecordArray(inner, list(layouts), length=total)
    return ak.Array(ak.contents.ListOffsetArray(first.offsets, record))


def _table(fields: dict[str, Any]) -> Any:
    import awkward as ak

    length = len(next(iter(fields.values()))) if fields else 0
    return ak.Array(
        ak.contents.RecordArray([array.layout for array in fields.values()], list(fields), length=length)
    )
