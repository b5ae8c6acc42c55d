// What ROOT reads back from the trees of a file, as JSON. Included by the sources that have the classes.
#ifndef SAPWOOD_ORACLE_DUMP
#define SAPWOOD_ORACLE_DUMP

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "TBranchElement.h"
#include "TBufferJSON.h"
#include "TClass.h"
#include "TFile.h"
#include "TKey.h"
#include "TLeaf.h"
#include "TTree.h"

static void number(std::ostream &o, double x)
{
   char s[40];
   if (std::isnan(x))
      o << "\"nan\"";
   else if (std::isinf(x))
      o << (x > 0 ? "\"inf\"" : "\"-inf\"");
   else {
      snprintf(s, sizeof s, "%.17g", x);
      o << s;
   }
}

static void quoted(std::ostream &o, const std::string &s)
{
   o << '"';
   for (unsigned char c : s) {
      char hex[8];
      if (c == '"' || c == '\\')
         o << '\\' << c;
      else if (c < 32 || c > 126) {
         snprintf(hex, sizeof hex, "\\u%04x", c);
         o << hex;
      } else
         o << c;
   }
   o << '"';
}

// The numbers of one leaf in the entry that was read last, nested as its title says.
static void leaf_values(std::ostream &o, TLeaf *l)
{
   if (!strcmp(l->ClassName(), "TLeafC")) {
      quoted(o, (const char *)l->GetValuePointer());
      return;
   }
   std::string type = l->GetTypeName();
   int total = l->GetLen();
   auto one = [&](int i) {
      char *p = (char *)l->GetValuePointer();
      std::string cl = l->ClassName();
      bool u = l->IsUnsigned();
      if (cl == "TLeafF" || cl == "TLeafF16")
         number(o, ((Float_t *)p)[i]);
      else if (cl == "TLeafD" || cl == "TLeafD32")
         number(o, ((Double_t *)p)[i]);
      else if (cl == "TLeafO")
         o << (((Bool_t *)p)[i] ? "true" : "false");
      else if (cl == "TLeafB")
         o << (u ? int(((UChar_t *)p)[i]) : int(((Char_t *)p)[i]));
      else if (cl == "TLeafS")
         o << (u ? int(((UShort_t *)p)[i]) : int(((Short_t *)p)[i]));
      else if (cl == "TLeafI") {
         if (u)
            o << ((UInt_t *)p)[i];
         else
            o << ((Int_t *)p)[i];
      } else if (cl == "TLeafL" || cl == "TLeafG") {
         if (u)
            o << ((ULong64_t *)p)[i];
         else
            o << ((Long64_t *)p)[i];
      } else
         o << "null";
   };
   std::vector<int> dims; // the fixed ones; the title of a packed leaf holds its range, its branch's title the dimensions
   std::string title = l->GetTitle();
   if (l->GetBranch()->GetNleaves() == 1)
      title = l->GetBranch()->GetTitle();
   title = title.substr(0, title.find('/'));
   for (size_t at = title.find('['); at != std::string::npos; at = title.find('[', at + 1)) {
      auto inside = title.substr(at + 1, title.find(']', at) - at - 1);
      if (!inside.empty() && inside.find_first_not_of("0123456789") == std::string::npos)
         dims.push_back(std::stoi(inside));
   }
   int at = 0;
   std::function<void(size_t)> nest = [&](size_t level) {
      if (level == dims.size()) {
         one(at++);
         return;
      }
      o << '[';
      for (int i = 0; i < dims[level]; ++i) {
         if (i)
            o << ',';
         nest(level + 1);
      }
      o << ']';
   };
   if (!l->GetLeafCount()) {
      nest(0);
      return;
   }
   int fixed = 1;
   for (int d : dims)
      fixed *= d;
   o << '[';
   for (int i = 0; i < total / fixed; ++i) {
      if (i)
         o << ',';
      nest(0);
   }
   o << ']';
}

// What TBufferJSON shows wrongly, put right by the file that includes this one; and what must be done before an entry is
// read into an object.
static std::string (*put_right)(const void *obj, const TClass *cl, std::string json) = nullptr;
static void (*before_entry)(void *obj, const std::string &class_name) = nullptr;

static std::string object_json(const void *obj, const TClass *cl)
{
   if (!strcmp(cl->GetName(), "vector<int>") && ((const std::vector<int> *)obj)->size() > 100000) {
      // too long to be written out: its length and two sums, one of them sensitive to the order
      auto &v = *(const std::vector<int> *)obj;
      Long64_t sum = 0, ordered = 0;
      for (size_t i = 0; i < v.size(); ++i)
         sum += v[i], ordered += Long64_t(v[i]) * Long64_t(i % 1009);
      return "{\"$n\":" + std::to_string(v.size()) + ",\"$sum\":" + std::to_string(sum) +
             ",\"$ordered\":" + std::to_string(ordered) + "}";
   }
   TBufferJSON::SetFloatFormat("%.17g");
   TBufferJSON::SetDoubleFormat("%.17g");
   std::string json = TBufferJSON::ConvertToJSON(obj, cl, 3).Data();
   return put_right ? put_right(obj, cl, json) : json;
}

// Names of the sub-branches, as nested lists: [[name, [..]], ..]
static void branch_names(std::ostream &o, TBranch *b)
{
   o << '[';
   bool first = true;
   for (auto s : *b->GetListOfBranches()) {
      o << (first ? "[" : ",[");
      first = false;
      quoted(o, s->GetName());
      o << ',';
      branch_names(o, (TBranch *)s);
      o << ']';
   }
   o << ']';
}

// {"entries": n, "branches": {name: {"entries": n, "class": .., "leaves": [..], "values": [one per entry]}}}
std::string dump_tree(TTree *t)
{
   std::ostringstream o;
   o << "{\"entries\":" << t->GetEntries() << ",\"branches\":{";
   bool first = true;
   for (auto x : *t->GetListOfBranches()) {
      auto b = (TBranch *)x;
      std::string bclass = b->ClassName();
      if (bclass == "TBranchRef")
         continue;
      auto be = dynamic_cast<TBranchElement *>(b);
      auto leaves = b->GetListOfLeaves();
      bool object = be || bclass == "TBranchObject" || bclass == "TBranchClones" || bclass == "TBranchSTL";
      if (!first)
         o << ",\n";
      first = false;
      quoted(o, b->GetName());
      o << ":{\"entries\":" << b->GetEntries() << ",\"branch\":\"" << bclass << "\",\"class\":";
      quoted(o, b->GetClassName());
      o << ",\"leaves\":[";
      for (int i = 0; i < leaves->GetEntries(); ++i) {
         auto l = (TLeaf *)leaves->At(i);
         o << (i ? "," : "") << "[\"" << l->GetName() << "\",\"" << l->ClassName() << "\",\"" << l->GetTypeName() << "\"]";
      }
      o << "],\"sub\":";
      branch_names(o, b);
      o << ",\"values\":[";
      std::string name = bclass == "TBranchClones" ? "TClonesArray" : bclass == "TBranchSTL" ? "vector<Track*>" : b->GetClassName();
      TClass *cl = object ? TClass::GetClass(name.c_str()) : nullptr;
      void *address = nullptr;
      if (object && !be)
         address = cl->New(), b->SetAddress(&address);
      for (Long64_t i = 0; i < b->GetEntries(); ++i) {
         o << (i ? ",\n" : "");
         t->LoadTree(i);
         if (be && before_entry && be->GetObject())
            before_entry(be->GetObject(), name);
         b->GetEntry(i);
         if (object) {
            o << object_json(be ? be->GetObject() : address, cl);
            continue;
         }
         if (leaves->GetEntries() > 1)
            o << '{';
         for (int j = 0; j < leaves->GetEntries(); ++j) {
            auto l = (TLeaf *)leaves->At(j);
            if (j)
               o << ',';
            if (leaves->GetEntries() > 1)
               quoted(o, l->GetName()), o << ':';
            leaf_values(o, l);
         }
         if (leaves->GetEntries() > 1)
            o << '}';
      }
      o << "]}";
   }
   o << "}}";
   return o.str();
}

std::string object_json_of_key(TKey *k)
{
   TClass *cl = TClass::GetClass(k->GetClassName());
   void *o = cl ? k->ReadObjectAny(cl) : nullptr;
   return o ? object_json(o, cl) : "";
}

// All trees of a file, one process a file: reading back must not see what the writer left in memory.
void dump_trees(const char *path, const char *out)
{
   std::unique_ptr<TFile> f(TFile::Open(path));
   std::ofstream o(out);
   o << "{\"trees\":{";
   bool first = true;
   for (auto x : *f->GetListOfKeys()) {
      auto k = (TKey *)x;
      auto cl = TClass::GetClass(k->GetClassName());
      if (!cl || !cl->InheritsFrom("TTree"))
         continue;
      auto t = (TTree *)k->ReadObj();
      o << (first ? "" : ",\n");
      first = false;
      quoted(o, std::string(k->GetName()) + ";" + std::to_string(k->GetCycle()));
      o << ":" << dump_tree(t);
   }
   o << "}}";
}

#endif
