"""Writes a default object of each class that ROOT can construct, and ROOT's own view of each.

Run as a program: arguments are the output and a JSON file for ROOT's view. Some classes end the process when
they are constructed, written or shown: a child does each step, and the next child goes on after that class.
"""

from __future__ import annotations

import glob
import json
import os
import re
import signal
import sys
from collections.abc import Callable
from typing import Any

CODE = """
#include "TBufferFile.h"
#include "TBufferJSON.h"
bool try_default(TClass *of) {
  TDirectory::TContext context(nullptr);
  void *object = of->New(TClass::kClassNew, true);
  TBufferFile buffer(TBuffer::kWrite);
  if (object) {
    buffer.MapObject(object, of);
    of->Streamer(object, buffer);
  }
  return object;
}
bool write_default(TFile *file, TClass *of, const char *name) {
  TDirectory::TContext context(nullptr);
  void *object = of->New(TClass::kClassNew, true);
  return object && file->WriteObjectAny(object, of, name);
}
std::string shown(TFile *file, const char *name) {
  TDirectory::TContext context(nullptr);
  TBufferJSON::SetFloatFormat("%.9g");
  TBufferJSON::SetDoubleFormat("%.17g");
  auto key = file->GetKey(name);
  auto of = TClass::GetClass(key->GetClassName());
  void *object = key->ReadObjectAny(of);
  return object ? TBufferJSON::ConvertToJSON(object, of, 3).Data() : "null";
}
"""

NOT_LOADED = ("Gui", "Ged", "GL", "Eve", "FitPanel", "Recorder", "TreeViewer", "Browser", "X11", "Rint")
"""Libraries whose classes draw windows, and are not stored."""

NOT_LOADED_EITHER = ("cppyy", "Pythonizations", "TPython", "Cling", "JupyROOT")

NOT_TRIED = re.compile(r"ROOT::Math::(GSL|QuasiRandom<|Random<|Roots::)|TG[A-Z]|T\w*Editor$")
"""Generators and minimizers without a state end ROOT, and windows cannot be opened: trying each takes 10 s."""


def in_child(work: Callable[[Any], None]) -> tuple[list[Any], bool]:
    """The answers that a child sends, one a line, and whether it came to its end."""
    take, give = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(take)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        with os.fdopen(give, "w", buffering=1) as out:
            work(out)
        os._exit(0)
    os.close(give)
    with os.fdopen(take) as lines:
        answers = [json.loads(line) for line in lines]
    _, status = os.waitpid(child, 0)
    return answers, status == 0


def main(path: str, view: str) -> None:
    import ROOT

    ROOT.gROOT.SetBatch(True)
    ROOT.gErrorIgnoreLevel = 6000
    for library in sorted(glob.glob(f"{ROOT.TROOT.GetLibDir()}/lib*.so")):
        name = os.path.basename(library)
        if not any(word in name for word in NOT_LOADED + NOT_LOADED_EITHER):
            ROOT.gSystem.Load(name)
    ROOT.gInterpreter.Declare(CODE)
    ROOT.gSystem.ResetSignals()
    ROOT.TClassTable.Init()
    listed = iter(lambda: str(ROOT.TClassTable.Next() or ""), "")
    names = sorted({name for name in listed if not NOT_TRIED.match(name)})
    crashed: list[str] = []
    wanted: list[str] = []
    start = 0

    def attempt(out: Any) -> None:
        for name in names[start:]:
            print(json.dumps([name, False]), file=out)
            of = ROOT.TClass.GetClass(name)
            if of and not of.Property() & ROOT.kIsAbstract and of.HasDefaultConstructor():
                signal.alarm(20)
                if ROOT.try_default(of):
                    print(json.dumps([name, True]), file=out)

    while start < len(names):
        answers, is_whole = in_child(attempt)
        wanted += [name for name, is_written in answers if is_written]
        start = names.index(answers[-1][0]) + 1 if answers else start + 1
        if not is_whole:
            crashed.append(names[start - 1])

    def write(_: Any) -> None:
        file = ROOT.TFile(path, "RECREATE")
        for name in wanted:
            ROOT.write_default(file, ROOT.TClass.GetClass(name), name.replace("/", "_"))
        file.Close()

    in_child(write)

    file = ROOT.TFile.Open(path)
    keys = sorted({str(key.GetName()) for key in file.GetListOfKeys()})
    views: dict[str, str] = {}
    start = 0

    def show(out: Any) -> None:
        for name in keys[start:]:
            signal.alarm(20)
            try:
                found = str(ROOT.shown(file, name))
            except Exception:
                found = ""
            print(json.dumps([name, found]), file=out)

    while start < len(keys):
        answers, is_whole = in_child(show)
        views.update(answers)
        start += len(answers) + (not is_whole)
    with open(view, "w") as out:
        json.dump({"views": views, "crashed": crashed}, out)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
