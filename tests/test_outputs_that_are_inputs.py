"""No command writes over a file that it reads, also by another name."""

import numpy as np
import pytest
import sapwood


@pytest.fixture
def paths(tmp_path):
    path, link = tmp_path / "a.root", tmp_path / "link.root"
    with sapwood.recreate(path) as file:
        file["t"], file["note"] = {"x": np.arange(100.0)}, "kept"
    link.symlink_to(path)
    return path, link


def test_outputs_that_are_inputs_are_refused(paths):
    path, link = paths
    before = path.read_bytes()
    for output in (path, link):
        attempts = [
            lambda output=output: sapwood.convert(f"{path}:t", f"{output}:u", overwrite=True),
            lambda output=output: sapwood.convert(sapwood.open(path)["t"], output, overwrite=True),
            lambda output=output: sapwood.skim(f"{path}:t", output, ["x"]),
            lambda output=output: sapwood.skim(sapwood.open(path)["t"], output, ["x"]),
            lambda output=output: sapwood.pack(path, output, replace=True),
            lambda output=output: sapwood.merge(output, [path]),
        ]
        for attempt in attempts:
            with pytest.raises(sapwood.errors.MismatchError):
                attempt()
            assert path.read_bytes() == before and link.is_symlink()


def test_unpacking_does_not_replace_the_packed_file(paths):
    packed = sapwood.pack(paths[0]).output
    with pytest.raises(sapwood.errors.MismatchError):
        sapwood.unpack(packed, packed, replace=True)
    assert sapwood.open(f"{packed}:t").num_entries == 100


def test_a_link_stays_when_its_target_is_replaced(paths, tmp_path):
    path, link = paths
    with sapwood.recreate(tmp_path / "b.root") as file:
        file["t"] = {"x": [1.0]}
    sapwood.convert(f"{tmp_path}/b.root:t", f"{link}:t", overwrite=True)
    assert link.is_symlink() and sapwood.open(path)["t"].num_entries == 1
    sapwood.skim(f"{tmp_path}/b.root:t", link, {"y": "x + 1"})
    assert link.is_symlink() and sapwood.open(path)["t"].keys() == ["y"]
