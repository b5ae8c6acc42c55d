"""The public names, for type checkers: ``__init__.py`` imports them at their first use."""

from sapwood import compression as compression
from sapwood import errors as errors
from sapwood import interpretation as interpretation
from sapwood import model as model
from sapwood import models as models
from sapwood import objects as objects
from sapwood import perf as perf
from sapwood import pyroot as pyroot
from sapwood import streamers as streamers
from sapwood import writing as writing
from sapwood._batches.batch import Batch as Batch
from sapwood._batches.batches import Batches as Batches
from sapwood._batches.batches import batches as batches
from sapwood._batches.columns import Ragged as Ragged
from sapwood._batches.scaling import Scaling as Scaling
from sapwood._batches.scores import add_column as add_column
from sapwood._core import __version__ as __version__
from sapwood._file.directory import Directory as Directory
from sapwood._file.directory import Key as Key
from sapwood._file.file import File as File
from sapwood._file.file import open as open
from sapwood._read.compat_kwargs import UnusedArgument as UnusedArgument
from sapwood._read.elements import STLMap as STLMap
from sapwood._read.elements import STLSet as STLSet
from sapwood._read.elements import STLVector as STLVector
from sapwood._read.filters import no_filter as no_filter
from sapwood._read.multi_file import concatenate as concatenate
from sapwood._read.multi_file import draw as draw
from sapwood._read.multi_file import draw_many as draw_many
from sapwood._read.multi_file import iterate as iterate
from sapwood._read.multi_file import num_entries as num_entries
from sapwood._read.multi_file import scan as scan
from sapwood._read.vectors import vectors as vectors
from sapwood._remote.network import Opening as Opening
from sapwood._tools.compression_studies import compression_study as compression_study
from sapwood._tools.converting import Converted as Converted
from sapwood._tools.converting import convert as convert
from sapwood._tools.events import nanoevents as nanoevents
from sapwood._tools.inspection import doctor as doctor
from sapwood._tools.inspection import verify as verify
from sapwood._tools.lazy import dask as dask
from sapwood._tools.lazy import dask_write as dask_write
from sapwood._tools.merging import Merged as Merged
from sapwood._tools.merging import merge as merge
from sapwood._tools.packing import Packed as Packed
from sapwood._tools.packing import pack as pack
from sapwood._tools.packing import unpack as unpack
from sapwood._tools.processing import Selector as Selector
from sapwood._tools.processing import process as process
from sapwood._tools.project import makeproject as makeproject
from sapwood._tools.recovery import Recovered as Recovered
from sapwood._tools.recovery import recover as recover
from sapwood._tools.rewriting import rewrite as rewrite
from sapwood._tools.selectors import makeselector as makeselector
from sapwood._tools.skimming import skim as skim
from sapwood._tree.branch import Branch as Branch
from sapwood._tree.iteration import Report as Report
from sapwood._tree.tree import Tree as Tree
from sapwood._write.parallel_tree import ParallelTree as ParallelTree
from sapwood._write.root_classes import TNamed as TNamed
from sapwood._write.root_classes import TObject as TObject
from sapwood._write.root_classes import TRef as TRef
from sapwood._write.root_classes import TRefArray as TRefArray
from sapwood._write.writable_directory import WritableDirectory as WritableDirectory
from sapwood._write.writable_ntuple import ParallelNTuple as ParallelNTuple
from sapwood._write.writable_ntuple import WritableNTuple as WritableNTuple
from sapwood._write.writable_tree import WritableBranch as WritableBranch
from sapwood._write.writable_tree import WritableTree as WritableTree
from sapwood.compression import LZ4 as LZ4
from sapwood.compression import LZMA as LZMA
from sapwood.compression import ZLIB as ZLIB
from sapwood.compression import ZSTD as ZSTD
from sapwood.compression import Compression as Compression
from sapwood.errors import SapwoodError as SapwoodError
from sapwood.interpretation import AsDtype as AsDtype
from sapwood.interpretation import AsJagged as AsJagged
from sapwood.interpretation import AsObjects as AsObjects
from sapwood.interpretation import AsStrings as AsStrings
from sapwood.model import Model as Model
from sapwood.models.behavior import classes as classes
from sapwood.objects import as_TGraph as as_TGraph
from sapwood.pyroot import from_pyroot as from_pyroot
from sapwood.pyroot import to_pyroot as to_pyroot
from sapwood.pyroot import to_writable as to_writable
from sapwood.writing import WritableFile as WritableFile
from sapwood.writing import create as create
from sapwood.writing import recreate as recreate
from sapwood.writing import update as update

# The same classes by the names that uproot has for them.
KeyInFileError = errors.NotFoundError
ReadOnlyDirectory = Directory
ReadOnlyFile = File
TBranch = Branch
TTree = Tree
