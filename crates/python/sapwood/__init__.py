"""Sapwood reads and writes CERN ROOT files at the speed of the hardware, without ROOT."""

import atexit
import sys

from sapwood._core import __version__ as __version__

# Importing the package imports nothing but the engine: most of the package needs NumPy, and the command does
# not. A name's module is imported when the name is used first (PEP 562).
#: The public names and their modules; after a colon the name there, if it differs. Type checkers read
#: `__init__.pyi`: add a name to both.
_PLACES = {
    "add_column": "_batches.scores",
    "as_TGraph": "objects",
    "AsDtype": "interpretation",
    "AsJagged": "interpretation",
    "AsObjects": "interpretation",
    "AsStrings": "interpretation",
    "Batch": "_batches.batch",
    "Batches": "_batches.batches",
    "batches": "_batches.batches",
    "Branch": "_tree.branch",
    "classes": "models.behavior",
    "Compression": "compression",
    "compression_study": "_tools.compression_studies",
    "concatenate": "_read.multi_file",
    "convert": "_tools.converting",
    "Converted": "_tools.converting",
    "create": "writing",
    "dask": "_tools.lazy",
    "dask_write": "_tools.lazy",
    "Directory": "_file.directory",
    "doctor": "_tools.inspection",
    "draw": "_read.multi_file",
    "Drawing": "_read.drawings",
    "draw_many": "_read.multi_file",
    "File": "_file.file",
    "Frame": "_frame.frame",
    "frame": "_frame.frame",
    "from_pyroot": "pyroot",
    "index": "_tools.indexing",
    "Indexed": "_tools.indexing",
    "iterate": "_read.multi_file",
    "Key": "_file.directory",
    "KeyInFileError": "errors:NotFoundError",
    "LZ4": "compression",
    "LZMA": "compression",
    "makeproject": "_tools.project",
    "makeselector": "_tools.selectors",
    "merge": "_tools.merging",
    "Merged": "_tools.merging",
    "Model": "model",
    "nanoevents": "_tools.events",
    "no_filter": "_read.filters",
    "num_entries": "_read.multi_file",
    "open": "_file.file",
    "Opening": "_remote.network",
    "pack": "_tools.packing",
    "pick": "_tools.picking",
    "Picked": "_tools.picking",
    "Packed": "_tools.packing",
    "ParallelNTuple": "_write.writable_ntuple",
    "ParallelTree": "_write.parallel_tree",
    "process": "_tools.processing",
    "ReadOnlyDirectory": "_file.directory:Directory",
    "ReadOnlyFile": "_file.file:File",
    "Ragged": "_batches.columns",
    "recover": "_tools.recovery",
    "Recovered": "_tools.recovery",
    "recreate": "writing",
    "Report": "_tree.iteration",
    "Result": "_frame.results",
    "rewrite": "_tools.rewriting",
    "run": "_frame.frame",
    "SapwoodError": "errors",
    "Scaling": "_batches.scaling",
    "scan": "_read.multi_file",
    "Selector": "_tools.processing",
    "skim": "_tools.skimming",
    "STLMap": "_read.elements",
    "STLSet": "_read.elements",
    "STLVector": "_read.elements",
    "TBranch": "_tree.branch:Branch",
    "TNamed": "_write.root_classes",
    "to_pyroot": "pyroot",
    "to_writable": "pyroot",
    "TObject": "_write.root_classes",
    "Tree": "_tree.tree",
    "TRef": "_write.root_classes",
    "TRefArray": "_write.root_classes",
    "TTree": "_tree.tree:Tree",
    "unpack": "_tools.packing",
    "UnusedArgument": "_read.compat_kwargs",
    "update": "writing",
    "vectors": "_read.vectors",
    "verify": "_tools.inspection",
    "WritableBranch": "_write.writable_tree",
    "WritableDirectory": "_write.writable_directory",
    "WritableFile": "writing",
    "WritableNTuple": "_write.writable_ntuple",
    "WritableTree": "_write.writable_tree",
    "ZLIB": "compression",
    "ZSTD": "compression",
}
#: The public modules, which a program uses without importing them.
_MODULES = (
    "compression",
    "errors",
    "interpretation",
    "model",
    "models",
    "objects",
    "perf",
    "pyroot",
    "streamers",
    "writing",
)

__all__ = sorted([*_PLACES, *_MODULES, "__version__"])


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"sapwood.{name}")
    if name not in _PLACES:
        message = f"module 'sapwood' has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    module, _, other = _PLACES[name].partition(":")
    value = globals()[name] = getattr(import_module(f"sapwood.{module}"), other or name)
    return value


def __dir__() -> list[str]:
    return __all__


# Registered here and not when the first file is written: handlers that a program registers after it imported
# the package run before this one, and find their files open.
@atexit.register
def _close_files() -> None:
    """Closes files that were never closed, as long as modules can be imported, which conversions may need."""
    if (writing := sys.modules.get("sapwood.writing")) is not None:
        writing._close_all()
