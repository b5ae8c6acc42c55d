#!/usr/bin/env python3
"""Random classes in random trees, written and read by real ROOT.

    python tests/oracle/random_classes.py DIRECTORY SEED [SEED ...]

Each seed becomes DIRECTORY/random_<seed>.root, with trees that differ in codec, baskets, split level and
streaming, and DIRECTORY/random_<seed>.json: for each tree and branch one value an entry, as ROOT reads it
back. The same seed gives the same classes and values. Members of a class have its number (``f2_0``), so that
no two classes share one.
"""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

NUMBERS = [
    "bool", "char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "Long64_t", "ULong64_t",
    "float", "double",
]  # fmt: skip
KEYS = ["int", "ULong64_t", "std::string", "short"]
CODECS = [0, 101, 109, 404, 505]

HEAD = r"""
#include <cstdio>
#include <fstream>
#include <functional>
#include <list>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>
#include "TFile.h"
#include "TClass.h"
#include "TObject.h"
#include "TString.h"
#include "TTree.h"
#include "TVirtualStreamerInfo.h"

struct Gen {
   uint64_t s;
   explicit Gen(uint64_t seed) : s(seed * 2862933555777941757ULL + 3037000493ULL) {}
   uint64_t bits() { s ^= s << 13, s ^= s >> 7, s ^= s << 17; return s; }
   int below(int n) { return int((bits() >> 33) % uint64_t(n)); }
};

// Of this namespace, so that each `dump` is found wherever it stands.
struct Out { std::ofstream to; };
template <class T> Out &operator<<(Out &o, const T &x) { o.to << x; return o; }
"""

TEMPLATES = r"""
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> void fill(T &o, Gen &g)
{
   if constexpr (std::is_same_v<T, bool>) o = g.bits() & 4096;
   else if constexpr (std::is_integral_v<T>) o = T(g.bits() >> (g.below(8) ? 7 : 0));
   else o = T(int64_t(g.bits()) >> 40) / 64;
}
void fill(std::string &o, Gen &g)
{
   o.clear();
   for (int n = g.below(6) ? g.below(9) : 300; n > 0; --n) o += char('a' + g.below(26));
}
void fill(TString &o, Gen &g) { std::string s; fill(s, g); o = s.c_str(); }
template <class T, size_t N> void fill(T (&o)[N], Gen &g) { for (auto &x : o) fill(x, g); }
template <class A, class B> void fill(std::pair<A, B> &o, Gen &g) { fill(o.first, g), fill(o.second, g); }
template <class T> void fill(T *&o, Gen &g);
template <class C> void fill_list(C &o, Gen &g)
{
   o.clear();
   for (int n = g.below(4) ? g.below(4) : g.below(12); n > 0; --n) {
      typename C::value_type x{};
      fill(x, g), o.push_back(x);
   }
}
template <class T> void fill(std::vector<T> &o, Gen &g) { fill_list(o, g); }
template <class T> void fill(std::list<T> &o, Gen &g) { fill_list(o, g); }
template <class T> void fill(std::deque<T> &o, Gen &g) { fill_list(o, g); }
template <class T> void fill(std::set<T> &o, Gen &g)
{
   o.clear();
   for (int n = g.below(5); n > 0; --n) { T x{}; fill(x, g); o.insert(x); }
}
template <class C> void fill_map(C &o, Gen &g)
{
   o.clear();
   typename C::key_type last{};
   for (int n = g.below(5); n > 0; --n) {
      typename C::key_type k{}; typename C::mapped_type v{};
      fill(k, g), fill(v, g);
      if (!g.below(3)) k = last;
      last = k;
      o.insert({k, v});
   }
}
template <class K, class V> void fill(std::map<K, V> &o, Gen &g) { fill_map(o, g); }
template <class K, class V> void fill(std::multimap<K, V> &o, Gen &g) { fill_map(o, g); }

template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> void dump(Out &o, const T &x)
{
   char s[40];
   if constexpr (std::is_same_v<T, bool>) o << (x ? "true" : "false");
   else if constexpr (std::is_floating_point_v<T>) { snprintf(s, sizeof s, "%.17g", double(x)); o << s; }
   else if constexpr (std::is_signed_v<T>) o << (long long)x;
   else o << (unsigned long long)x;
}
void dump(Out &o, const std::string &x) { o << '"' << x << '"'; }
void dump(Out &o, const TString &x) { o << '"' << x.Data() << '"'; }
template <class T> void dump(Out &o, T *const &x);
template <class T> void fill_counted(int &n, T *&o, Gen &g)
{
   n = g.below(4), o = n ? new T[n] : nullptr;
   for (int i = 0; i < n; ++i) fill(o[i], g);
}
template <class T> void dump_counted(Out &o, int n, const T *x)
{
   o << '[';
   for (int i = 0; i < n; ++i) o << (i ? "," : ""), dump(o, x[i]);
   o << ']';
}
template <class C> void dump_all(Out &o, const C &all)
{
   o << '[';
   bool first = true;
   for (const auto &x : all) { if (!first) o << ','; first = false; dump(o, x); }
   o << ']';
}
template <class T, size_t N> void dump(Out &o, const T (&x)[N]) { dump_all(o, x); }
template <class A, class B> void dump(Out &o, const std::pair<A, B> &x)
{
   o << "{\"first\":", dump(o, x.first), o << ",\"second\":", dump(o, x.second), o << '}';
}
template <class T> void dump(Out &o, const std::vector<T> &x) { dump_all(o, x); }
template <> void dump(Out &o, const std::vector<bool> &all)
{
   o << '[';
   for (size_t i = 0; i < all.size(); ++i) o << (i ? "," : "") << (all[i] ? "true" : "false");
   o << ']';
}
template <> void fill(std::vector<bool> &o, Gen &g)
{
   o.clear();
   for (int n = g.below(9); n > 0; --n) o.push_back(g.below(2));
}
template <class T> void dump(Out &o, const std::list<T> &x) { dump_all(o, x); }
template <class T> void dump(Out &o, const std::deque<T> &x) { dump_all(o, x); }
template <class T> void dump(Out &o, const std::set<T> &x) { dump_all(o, x); }
template <class K, class V> void dump(Out &o, const std::map<K, V> &x) { dump_all(o, x); }
template <class K, class V> void dump(Out &o, const std::multimap<K, V> &x) { dump_all(o, x); }
"""

TAIL = r"""
template <class T> void fill(T *&o, Gen &g)
{
   // ROOT writes an empty collection for a null pointer to one.
   o = nullptr;
   if (std::is_class_v<T> && TClass::GetClass<T>()->GetCollectionProxy() || g.below(3)) o = new T(), fill(*o, g);
}
template <class T> void dump(Out &o, T *const &x) { if (x) dump(o, *x); else o << "null"; }

using Fillers = std::vector<std::function<void()>>;
template <class T> void add_branch(TTree &t, const char *name, int basket, int split, uint64_t seed, Fillers &fillers)
{
   auto value = new T *(new T());
   auto g = std::make_shared<Gen>(seed);
   t.Branch(name, value, basket, split);
   fillers.push_back([value, g]() { fill(**value, *g); });
}
void fill_tree(TTree &t, Fillers &fillers, int entries)
{
   for (int i = 0; i < entries; ++i) {
      for (auto &one : fillers) one();
      t.Fill();
   }
   fillers.clear();
   t.Write();
}
template <class T> void dump_branch(Out &o, TTree &t, const char *name)
{
   T *value = nullptr;
   t.SetBranchAddress(name, &value);
   o << '"' << name << "\":[";
   for (Long64_t i = 0; i < t.GetEntries(); ++i) {
      t.LoadTree(i), t.GetBranch(name)->GetEntry(i);
      o << (i ? ",\n" : ""), dump(o, *value);
   }
   o << ']';
   t.ResetBranchAddresses();
}
"""


class Source:
    """The source of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.classes: list[str] = []
        self.above: dict[str, set[str]] = {}
        self.text: list[str] = []
        self.links: list[str] = []
        self.calls: list[str] = []

    def link(self, name: str) -> str:
        if name not in self.links:
            self.links.append(name)
        return name

    def value(self, depth: int = 0) -> str:
        """A type that may be the item of a container."""
        r = self.random.random()
        if r < 0.35 or depth > 2:
            return self.random.choice(NUMBERS)
        if r < 0.43:
            return "std::string"
        if r < 0.46:
            return "TString"
        if r < 0.72 and self.classes:
            return self.random.choice(self.classes)
        if r < 0.78:
            return self.pair(depth + 1)
        return self.container(depth + 1)

    def pair(self, depth: int = 0) -> str:
        return self.link(f"std::pair<{self.random.choice(KEYS)}, {self.value(depth)}>")

    def container(self, depth: int = 0) -> str:
        kind = self.random.choice(
            ["vector", "vector", "vector", "list", "deque", "set", "map", "map", "multimap"]
        )
        if kind == "set":
            return self.link(f"std::set<{self.random.choice(KEYS)}>")
        if kind in ("map", "multimap"):
            key, value = self.random.choice(KEYS), self.value(depth)
            return self.link(f"std::{kind}<{key}, {value}>")
        item = self.value(depth)
        if kind == "vector" and item in self.classes and self.random.random() < 0.35:
            item += "*"
        if kind == "deque" and item == "bool":
            item = "int"
        return self.link(f"std::{kind}<{item}>")

    def member(self, name: str) -> str:
        r = self.random.random()
        if r < 0.3:
            return f"{self.random.choice(NUMBERS)} {name} = 0;"
        if r < 0.38:
            return f"{self.random.choice(NUMBERS)} {name}[{self.random.choice([1, 2, 3])}] = {{}};"
        if r < 0.4:
            return f"{self.random.choice(['Double32_t', 'Float16_t', 'Double32_t'])} {name} = 0;"
        if r < 0.43:
            return f"std::string {name};"
        if r < 0.46:
            return f"TString {name};"
        if r < 0.5:
            return f"{self.pair()} {name};"
        if r < 0.62 and self.classes:
            return f"{self.random.choice(self.classes)} {name};"
        if r < 0.66 and self.classes:
            return f"{self.random.choice(self.classes)} {name}[2];"
        if r < 0.72 and self.classes:
            return f"{self.random.choice(self.classes)} *{name} = nullptr;"
        if r < 0.76:
            return f"{self.container()} {name}[2];"
        if r < 0.8:
            return f"{self.container()} *{name} = nullptr;"
        if r < 0.83:
            counted = f"int {name}n = 0; {self.random.choice(NUMBERS[5:])} *{name} = nullptr; //[{name}n]"
            return counted.replace("; ", ";\n   ", 1)
        return f"{self.container()} {name};"

    def klass(self, number: int) -> None:
        letter = chr(ord("A") + self.seed % 26)
        name = f"{letter}{self.seed}_{number}"
        bases = []
        if self.random.random() < 0.3:
            bases.append("TObject")
        # No class stands twice above another: its members would be ambiguous.
        apart = [one for one in self.classes if not self.above[one] & {"TObject", *bases}]
        if apart and self.random.random() < 0.4:
            bases.append(self.random.choice(apart))
            apart = [
                one for one in apart if not ({one} | self.above[one]) & ({bases[-1]} | self.above[bases[-1]])
            ]
            if apart and self.random.random() < 0.3:
                bases.append(self.random.choice(apart))
        self.above[name] = set(bases).union(*(self.above.get(base, set()) for base in bases))
        # A class without members has no bytes.
        members = [f"f{number}_{index}" for index in range(self.random.choice([0, 1, 2, 3, 4, 6]))]
        declared = [self.member(member) for member in members]
        has_version = bool(bases) or self.random.random() < 0.6
        version = f"   ClassDef({name}, {self.random.randint(1, 5)})\n" if has_version else ""
        virtual = f"   virtual ~{name}() {{}}\n" if has_version else ""
        base = f" : {', '.join(f'public {one}' for one in bases)}" if bases else ""
        body = "".join(f"   {line}\n" for line in declared)
        self.text.append(f"class {name}{base} {{\npublic:\n{body}{virtual}{version}}};\n")
        self.text.append(f"void fill({name} &x, Gen &g);\nvoid dump(Out &o, const {name} &x);\n")
        above = [one for one in bases if one != "TObject"]
        fills, shows = (
            [f"fill(({one} &)x, g);" for one in above],
            [f"members(o, (const {one} &)x, first);" for one in above],
        )
        for member, line in zip(members, declared):
            shown = {member: f"dump(o, x.{member});"}
            if "//[" in line:
                fills.append(f"fill_counted(x.{member}n, x.{member}, g);")
                shown = {
                    f"{member}n": f"dump(o, x.{member}n);",
                    member: f"dump_counted(o, x.{member}n, x.{member});",
                }
            else:
                fills.append(f"fill(x.{member}, g);")
            for one, code in shown.items():
                shows.append(f"""o << (first ? "" : ",") << "\\"{one}\\":"; first = false; {code}""")
        self.later += (
            f"void fill({name} &x, Gen &g) {{ {' '.join(fills)} }}\n"
            f"void members(Out &o, const {name} &x, bool &first) {{ {' '.join(shows)} }}\n"
            f"void dump(Out &o, const {name} &x) {{ bool first = true; o << '{{'; members(o, x, first); o << '}}'; }}\n"
        )
        self.classes.append(name)
        self.links.append(name)

    later = ""

    def tree(self, number: int) -> None:
        r = self.random
        entries = r.choice([9, 40, 150])
        codec, basket, member_wise = r.choice(CODECS), r.choice([1000, 1000, 32000]), r.random() < 0.7
        flush = r.choice([7, -30000, 0])
        lines = [
            f"   TVirtualStreamerInfo::SetStreamMemberWise({str(member_wise).lower()});",
            f'   f.SetCompressionSettings({codec}); auto t{number} = new TTree("t{number}", "random");',
            f"   t{number}->SetAutoFlush({flush}); t{number}->SetAutoSave(0);",
        ]
        dumps = [
            f'   {{ auto t = (TTree *)f->Get("t{number}"); o << "{"," if number else ""}\\"t{number}\\":{{";'
        ]
        for index in range(r.randint(2, 4)):
            kind = r.choice(self.classes) if r.random() < 0.7 else self.container()
            kind = self.link(kind)
            name = f"b{index}" + ("." if kind in self.classes else "")
            split, seed = r.choice([0, 1, 2, 3, 99, 99]), r.getrandbits(60)
            lines.append(
                f'   add_branch<{kind}>(*t{number}, "{name}", {basket}, {split}, {seed}ULL, fillers);'
            )
            dumps.append(f"""{"   o << ',';" if index else ""} dump_branch<{kind}>(o, *t, "{name}");""")
        self.calls.append("\n".join([*lines, f"   fill_tree(*t{number}, fillers, {entries});"]))
        self.dumps.append("\n".join([*dumps, "   o << '}'; }"]))

    def source(self) -> str:
        self.dumps: list[str] = []
        for number in range(self.random.randint(3, 6)):
            self.klass(number)
        for number in range(3):
            self.tree(number)
        links = "".join(f"#pragma link C++ class {name}+;\n" for name in self.links)
        writes, dumps = "\n".join(self.calls), "\n".join(self.dumps)
        return "\n".join([
            HEAD, *self.text, f"#ifdef __ROOTCLING__\n{links}#endif", TEMPLATES, self.later, TAIL,
            f'void write(const char *path)\n{{\n   TFile f(path, "RECREATE");\n   Fillers fillers;\n{writes}\n   f.Close();\n}}',
            "void dump_file(const char *path, const char *out)\n{\n   std::unique_ptr<TFile> f(TFile::Open(path));\n"
            f"   Out o{{std::ofstream(out)}};\n   o << '{{';\n{dumps}\n   o << '}}';\n}}",
        ])  # fmt: skip


def generate(folder: Path, seed: int) -> None:
    """Writes and dumps the files of one seed, in processes of their own: reading must not see what the writer left."""
    path, out, macro = (
        folder / f"random_{seed}.root",
        folder / f"random_{seed}.json",
        folder / f"random_{seed}.C",
    )
    macro.write_text(Source(seed).source())
    head = (
        "import ROOT; ROOT.gErrorIgnoreLevel = ROOT.kError; ROOT.gROOT.SetBatch(True); ROOT.gSystem.SetFlagsOpt('-O0'); "
        f"assert ROOT.gSystem.CompileMacro({str(macro)!r}, 'kgs'); "
    )
    for line in (f"ROOT.write({str(path)!r})", f"ROOT.dump_file({str(path)!r}, {str(out)!r})"):
        done = subprocess.run(
            [sys.executable, "-c", head + line], capture_output=True, text=True, timeout=900
        )
        if done.returncode != 0:
            raise RuntimeError(f"ROOT failed with seed {seed}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for one in sys.argv[2:]:
        generate(target.resolve(), int(one))
