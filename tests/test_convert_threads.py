"""Conversion of HDF5 files stays on one thread."""

import numpy as np
import pytest
import sapwood


def test_hdf5_is_read_and_written_in_the_thread_of_the_caller(tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    from sapwood._tree import iteration

    np.savez(tmp_path / "a.npz", x=np.arange(9.0))
    sapwood.convert(str(tmp_path / "a.npz"), tmp_path / "a.parquet")
    monkeypatch.setattr(iteration, "ahead", lambda *_: pytest.fail("another thread would read"))
    sapwood.convert(str(tmp_path / "a.parquet"), tmp_path / "a.h5")
    sapwood.convert(str(tmp_path / "a.h5"), f"{tmp_path}/b.root:t", step_size=3, jobs=4)
    assert sapwood.open(f"{tmp_path}/b.root:t")["x"].array().tolist() == list(range(9))
