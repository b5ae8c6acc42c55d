"""Sapwood reads and writes CERN ROOT files at the speed of the hardware, without ROOT."""

from __future__ import annotations

from sapwood import errors, objects, perf
from sapwood._core import SapwoodError, __version__
from sapwood.branch import Branch
from sapwood.compression import LZ4, LZMA, ZLIB, ZSTD, Compression
from sapwood.directory import Directory, Key
from sapwood.errors import NotFoundError as KeyInFileError
from sapwood.file import File, open
from sapwood.foreign import UnusedArgument
from sapwood.inspection import doctor, verify
from sapwood.iteration import Report
from sapwood.many import concatenate, iterate
from sapwood.merging import Merged, merge
from sapwood.model import Model
from sapwood.parallel_tree import ParallelTree
from sapwood.project import makeproject
from sapwood.recovery import Recovered, recover
from sapwood.rewriting import rewrite
from sapwood.tree import Tree
from sapwood.writable_directory import WritableDirectory
from sapwood.writable_tree import WritableBranch, WritableTree
from sapwood.writing import WritableFile, create, recreate, update

__all__ = [
    "LZ4",
    "LZMA",
    "ZLIB",
    "ZSTD",
    "Branch",
    "Compression",
    "Directory",
    "File",
    "Key",
    "KeyInFileError",
    "Merged",
    "Model",
    "ParallelTree",
    "Recovered",
    "Report",
    "SapwoodError",
    "Tree",
    "UnusedArgument",
    "WritableBranch",
    "WritableDirectory",
    "WritableFile",
    "WritableTree",
    "__version__",
    "concatenate",
    "create",
    "doctor",
    "errors",
    "iterate",
    "makeproject",
    "merge",
    "objects",
    "open",
    "perf",
    "recover",
    "recreate",
    "rewrite",
    "update",
    "verify",
]
