"""Imports at the start of the package and of the command, and the names that are imported later."""

from __future__ import annotations

import ast
import importlib
import operator
import pickle
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
sapwood = pytest.importorskip("sapwood")

REPOSITORY = Path(__file__).resolve().parent.parent
PACKAGE = Path(sapwood.__file__).parent

#: Modules that take long to import. Python's own start may import some, through files like
#: `distutils-precedence.pth`.
SLOW = """numpy awkward pandas polars pyarrow hist dask fsspec vector duckdb h5py numba ROOT uproot asyncio
argparse ast concurrent.futures csv dataclasses difflib email.message hashlib http.client importlib.metadata inspect json
logging multiprocessing pathlib re socket ssl subprocess tempfile typing unittest urllib.parse urllib.request
uuid""".split()

#: Prints the modules of the package that the lines before it imported, and those that are slow.
REPORT = f"""
import sys
late = sorted(name for name in set(sys.modules) - before if name in {SLOW!r})
ours = sorted(name for name in sys.modules if name.partition(".")[0] == "sapwood")
print("imported", ";".join(late), ";".join(ours), sep=":")
"""


def run(code: str, *arguments: str) -> str:
    """Runs these lines in a new process, and returns its output."""
    process = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(process, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported(code: str, *arguments: str) -> tuple[list[str], list[str]]:
    """Slow modules that these lines import in a new process, and modules of the package."""
    output = run(f"import sys\nbefore = set(sys.modules)\n{code}\n{REPORT}", *arguments)
    _, late, ours = output.splitlines()[-1].split(":")
    return late.split(";") if late else [], ours.split(";") if ours else []


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with numbers, lists, texts and records in a tree, and a histogram."""
    ak = pytest.importorskip("awkward")
    place = tmp_path_factory.mktemp("start") / "file.root"
    with sapwood.recreate(place) as file:
        file["tree"] = {
            "number": np.arange(6.0),
            "list": ak.Array([[1, 2], [], [3]] * 2),
            "text": ["a", "bc", ""] * 2,
            "record": ak.Array([{"a": 1, "b": [1.5]}] * 6),
        }
        file["h"] = np.histogram([1, 2, 3], bins=3)
    return str(place)


def test_importing_the_package_imports_the_engine_alone() -> None:
    assert imported("import sapwood") == ([], ["sapwood", "sapwood._core"])


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["ls", "FILE"], ["show", "FILE:tree"]])
def test_a_command_of_the_engine_imports_the_engine_alone(arguments: list[str], sample: str) -> None:
    code = """
from sapwood.__main__ import main
sys.argv[0] = "sapwood"
assert main() == 0
"""
    words = [word.replace("FILE", sample) for word in arguments]
    assert imported(code, *words) == ([], ["sapwood", "sapwood.__main__", "sapwood._core"])


@pytest.mark.parametrize("name", ["convert", "makeselector", "process"])
def test_a_command_of_python_imports_what_it_needs(name: str) -> None:
    code = """
from sapwood.__main__ import main
try:
    main()
except SystemExit as end:
    assert end.code == 0
"""
    late, ours = imported(code, name, "--help")
    assert {"numpy", "argparse"} <= set(late) and "sapwood._tools.selectors" in ours
    assert not {"awkward", "pyarrow", "fsspec", "asyncio"} & set(late)


def test_keys_are_listed_without_numpy(sample: str) -> None:
    code = """
import sapwood
with sapwood.open(sys.argv[1]) as file:
    assert file.keys(cycle=False) == ["h", "tree"]
    assert file.classnames()["tree;1"] == file.classname_of("tree") == "TTree" and "h" in file
"""
    late, ours = imported(code, sample)
    assert not {"numpy", "awkward", "fsspec", "concurrent.futures", "logging"} & set(late)
    assert "sapwood._file.file" in ours and "sapwood._tree.tree" not in ours


def test_arrays_of_numpy_are_read_without_awkward(sample: str) -> None:
    code = """
import sapwood
tree = sapwood.open(sys.argv[1])["tree"]
assert tree.keys() and tree.typenames() and tree.num_entries == 6
arrays = tree.arrays(library="np")
assert arrays["list"][0].tolist() == [1, 2] and arrays["text"][1] == "bc"
assert tree["number"].array(library="np").sum() == 15
assert tree.arrays(["2 * number"], cut="number > 3", library="np")["2 * number"].tolist() == [8, 10]
"""
    late, _ = imported(code, sample)
    assert "numpy" in late
    others = {"awkward", "pandas", "fsspec", "pyarrow", "asyncio", "concurrent.futures", "logging", "socket"}
    assert not others & set(late)


def test_objects_are_read_without_awkward(sample: str) -> None:
    code = """
import sapwood
assert sapwood.open(sys.argv[1])["h"].values().tolist() == [1, 1, 1]
"""
    assert not {"awkward", "hist", "fsspec", "asyncio"} & set(imported(code, sample)[0])


def test_every_public_name_is_there_and_listed() -> None:
    assert dir(sapwood) == sapwood.__all__ == sorted(set(sapwood.__all__))
    assert {"open", "recreate", "errors", "compression", "__version__"} <= set(sapwood.__all__)
    for name in sapwood.__all__:
        assert getattr(sapwood, name) is getattr(sapwood, name) is not None, name
    for name, place in sapwood._PLACES.items():
        module, _, other = place.partition(":")
        found = getattr(importlib.import_module(f"sapwood.{module}"), other or name)
        assert getattr(sapwood, name) is found, name
        assert getattr(found, "__name__", other or name) in (other or name, None), name


def test_a_star_imports_every_public_name() -> None:
    code = "from sapwood import *; import sapwood; print(set(sapwood.__all__) - set(globals()))"
    assert run(code).strip() == "set()"


def test_what_is_not_there_is_an_error_of_attributes() -> None:
    with pytest.raises(AttributeError, match="module 'sapwood' has no attribute 'opne'") as raised:
        sapwood.opne  # noqa: B018
    # With these Python proposes what looks alike.
    assert (raised.value.name, raised.value.obj) == ("opne", sapwood)
    assert not hasattr(sapwood, "nothing_of_that_name")
    with pytest.raises(ImportError, match="cannot import name 'opne'"):
        from sapwood import opne  # noqa: F401


def test_a_name_that_is_replaced_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = sapwood.open
    with monkeypatch.context() as patch:
        patch.setattr("sapwood.open", len)
        assert sapwood.open is len
    assert sapwood.open is before


def stub() -> tuple[dict[str, str], dict[str, str]]:
    """Names that the stub imports, by their places; and names that it gives to others."""
    places, others = {}, {}
    for line in ast.parse((PACKAGE / "__init__.pyi").read_text()).body:
        if isinstance(line, ast.ImportFrom):
            for name in line.names:
                assert name.asname == name.name, (
                    f"{name.name} is exported only if it is imported `as {name.name}`"
                )
                places[name.name] = (
                    f"{line.module}.{name.name}" if line.module == "sapwood" else str(line.module)
                )
        elif isinstance(line, ast.Assign):
            others[ast.unparse(line.targets[0])] = ast.unparse(line.value)
    return places, others


def test_type_checkers_see_the_same_names() -> None:
    places, others = stub()
    table = {name: place.partition(":") for name, place in sapwood._PLACES.items()}
    plain = {name: f"sapwood.{module}" for name, (module, _, other) in table.items() if not other}
    modules = {name: f"sapwood.{name}" for name in sapwood._MODULES}
    assert places == {
        **plain,
        **{name: f"sapwood.{name}" for name in modules},
        "__version__": "sapwood._core",
    }
    assert others.keys() == {name for name, (_, _, other) in table.items() if other}
    for name, path in others.items():
        # Looking a name up imports its module; what has been imported does not matter.
        assert getattr(sapwood, name) is operator.attrgetter(path)(sapwood), name


def test_type_checkers_know_what_names_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = pytest.importorskip("mypy.api")
    program = tmp_path / "program.py"
    program.write_text("""import sapwood
from sapwood import ReadOnlyFile, recreate


def work(tree: sapwood.TTree, file: ReadOnlyFile) -> sapwood.Compression:
    reveal_type(sapwood.__version__)
    reveal_type(tree.num_entries)
    reveal_type(file.keys)
    reveal_type(recreate("a.root"))
    reveal_type(sapwood.errors.NotFoundError)
    sapwood.open("a.root", threads="many")
    sapwood.opne("a.root")
    return sapwood.ZSTD(5)
""")
    # Without other packages, the stubs of which take long.
    options = ["--strict", "--no-site-packages", "--ignore-missing-imports"]
    monkeypatch.setenv("MYPYPATH", str(REPOSITORY / "crates" / "python"))
    messages, _, code = api.run([*options, "--config-file=", f"--cache-dir={tmp_path}", str(program)])
    lines = dict(re.findall(r"program\.py:(\d+): \w+: (.*)", messages))
    assert code == 1 and set(lines) == {"6", "7", "8", "9", "10", "11", "12"}, messages
    assert "str" in lines["6"] and "int" in lines["7"] and "def" in lines["8"]
    assert "sapwood.writing.WritableFile" in lines["9"] and "sapwood.errors.NotFoundError" in lines["10"]
    assert '"threads"' in lines["11"] and '"opne"' in lines["12"]


PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_names_in_the_documentation_are_public(page: Path) -> None:
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL))
    named = set(re.findall(r"(?<![\w./])sapwood\.([A-Za-z]\w*)", code)) - {"as_uproot"}
    assert named <= set(sapwood.__all__), named - set(sapwood.__all__)


def test_what_is_pickled_here_is_read_by_a_process_that_imported_nothing(tmp_path: Path) -> None:
    values = [getattr(sapwood, name) for name in sapwood._PLACES if name not in ("classes", "no_filter")]
    values += [sapwood.errors.not_found("no such key", "a.root"), sapwood.ZSTD(5)]
    place = tmp_path / "values"
    place.write_bytes(pickle.dumps(values))
    code = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    values = pickle.load(file)
assert values[-2].file == "a.root" and values[-1].code == 505
print(len(values))
"""
    assert run(code, str(place)).split() == [str(len(values))]


def test_handlers_at_exit_that_came_later_run_earlier(tmp_path: Path) -> None:
    code = """
import atexit, sys
import sapwood

@atexit.register
def last() -> None:
    file["last"] = "written"
    file.close()

file = sapwood.recreate(sys.argv[1])
file["first"] = "written"
"""
    assert run(code, str(tmp_path / "a.root")) == ""
    with sapwood.open(tmp_path / "a.root") as file:
        assert file.keys(cycle=False) == ["first", "last"]


def test_files_that_are_left_open_are_closed_at_exit(tmp_path: Path) -> None:
    code = """
import sys, sapwood
file = sapwood.recreate(sys.argv[1])
file["tree"] = {"x": [1, 2, 3]}
file.keep = file  # no count of references ends it
"""
    run(code, str(tmp_path / "a.root"))
    with sapwood.open(tmp_path / "a.root") as file:
        assert not file.is_recovered and file["tree"].num_entries == 3


def test_the_first_use_may_be_at_exit(sample: str) -> None:
    code = """
import atexit, sys
import sapwood

@atexit.register
def look() -> None:
    print(sapwood.open(sys.argv[1])["tree"].arrays(["number"], library="np")["number"].sum())
    print(len(sapwood.concatenate({sys.argv[1]: "tree"}, ["number"], library="np")["number"]))
"""
    assert run(code, sample).split() == ["15.0", "6"]


def test_threads_may_use_names_first(sample: str) -> None:
    code = """
import sys, threading
import sapwood

start, faults = threading.Barrier(8), []

def use(names: list[str]) -> None:
    start.wait()
    try:
        for name in names:
            getattr(sapwood, name)
        assert sapwood.open(sys.argv[1])["tree"].num_entries == 6
    except BaseException as fault:
        faults.append(repr(fault))

names = sapwood.__all__
threads = [threading.Thread(target=use, args=[names[at::8] + names[::-1]]) for at in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*faults, sep="; ")
"""
    assert run(code, sample).strip() == ""


def imports_of(lines: list[ast.stmt], known: set[str]) -> set[str]:
    """Modules of the package that a module imports while it is imported itself."""
    found: set[str] = set()
    for line in lines:
        if isinstance(line, ast.Import):
            found |= {name.name for name in line.names}
        elif isinstance(line, ast.ImportFrom):
            found |= {f"{line.module}.{name.name}" for name in line.names} | {str(line.module)}
        elif isinstance(line, ast.If):
            typing = "TYPE_CHECKING" in ast.unparse(line.test)
            found |= imports_of([*([] if typing else line.body), *line.orelse], known)
        elif isinstance(line, (ast.Try, ast.With, ast.ClassDef)):
            found |= imports_of(line.body, known)
    return (found & known) - {"sapwood"}


def test_any_module_may_be_imported_first() -> None:
    """Modules do not import each other in a circle: a circle works from one module only, and fails in two threads."""
    places = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }
    known = set(places)
    graph: dict[str, Any] = {
        name: imports_of(ast.parse(path.read_text()).body, known) for name, path in places.items()
    }
    assert "sapwood._tree.tree" in graph["sapwood._tree.ntuple"]
    list(TopologicalSorter(graph).static_order())  # raises a CycleError, which names the circle
