"""A tree that a process and a child that it forks read, each on connections of its own."""

from __future__ import annotations

import subprocess
import sys

READ = """
import os, sapwood
{before}
tree = sapwood.open({url!r}, threads=2)["events"]
before = tree.arrays(["x00"], entry_stop=1000)
child = os.fork()
if child == 0:
    os._exit(0 if tree.arrays(["x01"])["x01"][5] == tree.arrays(["x01"])["x01"][5] else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert (tree.arrays(["x00"], entry_stop=1000)["x00"] == before["x00"]).tolist() == [True] * 1000
"""


def child_reads(url: str, before: str = "") -> None:
    """Both read the branches ``x00`` and ``x01`` of ``events``; the lines ``before`` run first."""
    subprocess.run([sys.executable, "-c", READ.format(url=url, before=before)], check=True, timeout=60)
