"""Sapwood reads and writes CERN ROOT files at the speed of the hardware, without ROOT."""

from __future__ import annotations

from sapwood import errors, objects, perf
from sapwood._core import SapwoodError, __version__
from sapwood._file.directory import Directory, Key
from sapwood._file.file import File, open
from sapwood._read.compat_kwargs import UnusedArgument
from sapwood._read.elements import STLMap, STLSet, STLVector
from sapwood._read.filters import no_filter
from sapwood._read.multi_file import concatenate, draw, draw_many, iterate, num_entries, scan
from sapwood._read.vectors import vectors
from sapwood._remote.network import Opening
from sapwood._tools.compression_studies import compression_study
from sapwood._tools.converting import Converted, convert
from sapwood._tools.events import nanoevents
from sapwood._tools.inspection import doctor, verify
from sapwood._tools.lazy import dask, dask_write
from sapwood._tools.merging import Merged, merge
from sapwood._tools.packing import Packed, pack, unpack
from sapwood._tools.processing import Selector, process
from sapwood._tools.project import makeproject
from sapwood._tools.recovery import Recovered, recover
from sapwood._tools.rewriting import rewrite
from sapwood._tools.selectors import makeselector
from sapwood._tools.skimming import skim
from sapwood._tree.branch import Branch
from sapwood._tree.iteration import Report
from sapwood._tree.tree import Tree
from sapwood._write.parallel_tree import ParallelTree
from sapwood._write.root_classes import TNamed, TObject, TRef, TRefArray
from sapwood._write.writable_directory import WritableDirectory
from sapwood._write.writable_ntuple import ParallelNTuple, WritableNTuple
from sapwood._write.writable_tree import WritableBranch, WritableTree
from sapwood.compression import LZ4, LZMA, ZLIB, ZSTD, Compression
from sapwood.errors import NotFoundError as KeyInFileError
from sapwood.interpretation import AsDtype, AsJagged, AsObjects, AsStrings
from sapwood.model import Model
from sapwood.models.behavior import classes
from sapwood.objects import as_TGraph
from sapwood.pyroot import from_pyroot, to_pyroot, to_writable
from sapwood.writing import WritableFile, create, recreate, update

# The same classes by the names that uproot has for them.
ReadOnlyFile, ReadOnlyDirectory, TTree, TBranch = File, Directory, Tree, Branch

__all__ = [
    "LZ4",
    "LZMA",
    "ZLIB",
    "ZSTD",
    "AsDtype",
    "AsJagged",
    "AsObjects",
    "AsStrings",
    "Branch",
    "Compression",
    "Converted",
    "Directory",
    "File",
    "Key",
    "KeyInFileError",
    "Merged",
    "Model",
    "Packed",
    "Opening",
    "ParallelNTuple",
    "ParallelTree",
    "ReadOnlyDirectory",
    "ReadOnlyFile",
    "Recovered",
    "Report",
    "STLMap",
    "STLSet",
    "STLVector",
    "SapwoodError",
    "TBranch",
    "TTree",
    "Selector",
    "TNamed",
    "TObject",
    "TRef",
    "TRefArray",
    "Tree",
    "UnusedArgument",
    "WritableBranch",
    "WritableDirectory",
    "WritableFile",
    "WritableNTuple",
    "WritableTree",
    "__version__",
    "as_TGraph",
    "classes",
    "compression_study",
    "concatenate",
    "convert",
    "create",
    "dask",
    "dask_write",
    "doctor",
    "draw",
    "draw_many",
    "errors",
    "from_pyroot",
    "iterate",
    "makeproject",
    "makeselector",
    "merge",
    "nanoevents",
    "no_filter",
    "num_entries",
    "objects",
    "open",
    "pack",
    "perf",
    "process",
    "recover",
    "recreate",
    "rewrite",
    "scan",
    "skim",
    "to_pyroot",
    "to_writable",
    "unpack",
    "update",
    "vectors",
    "verify",
]
