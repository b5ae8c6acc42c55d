"""Writes a small tree of lists: `python by_uproot.py OUTPUT`, in a venv with an older uproot.

uproot 4.3.7 needs awkward<2 and numpy<2, 5.0.13 awkward<2.5 and numpy<2.
"""

import sys

import awkward as ak
import numpy as np
import uproot

lists = ak.values_astype(ak.Array([[1.0], [2.0, 3.0], [4.0]]), "float32")
with uproot.recreate(sys.argv[1]) as file:
    tree = file.mktree("t", {"j": "var * float32", "k": "int64"}, initial_basket_capacity=2)
    for _ in range(2):
        tree.extend({"j": lists, "k": np.array([7, 8, 9], "i8")})
