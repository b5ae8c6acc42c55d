// ROOT's ways to read a tree. Each function reads the wanted columns of all entries and returns the sum of every number
// (characters of a string count one each): a loop that uses nothing could be left out by the compiler.
#include <string>
#include <vector>

double root_getentry(const char *path, const std::vector<std::string> &wanted);
double root_ttreereader(const char *path, const std::vector<std::string> &wanted);
double root_bulk(const char *path, const std::vector<std::string> &wanted);
double root_rdataframe(const char *path, const std::vector<std::string> &wanted, int threads);
double root_open(const char *path);

#ifndef __CLING__ // the interpreter only needs to know the names above

#include "event.h"

#include <functional>
#include <memory>

#include "ROOT/RDataFrame.hxx"
#include "opened.h"
#include "TBufferFile.h"
#include "TLeaf.h"
#include "TROOT.h"
#include "TTree.h"
#include "TTreeReader.h"
#include "TTreeReaderArray.h"
#include "TTreeReaderValue.h"

using Names = std::vector<std::string>;
using Lists2 = std::vector<std::vector<float>>;

namespace {

struct Source {
   std::unique_ptr<TFile> file;
   TTree *tree;
   explicit Source(const char *path) : file(opened(path)), tree(file->Get<TTree>("tree")) {}
};

// The branches to read: `wanted`, or all.
std::vector<TBranch *> chosen(TTree *t, const Names &wanted)
{
   std::vector<TBranch *> out;
   if (wanted.empty())
      for (auto b : *t->GetListOfBranches())
         out.push_back((TBranch *)b);
   for (auto &n : wanted)
      out.push_back(t->GetBranch(n.c_str()));
   return out;
}

void only(TTree *t, const Names &wanted)
{
   if (wanted.empty())
      return;
   t->SetBranchStatus("*", false);
   for (auto &n : wanted)
      t->SetBranchStatus(n.c_str(), true);
}

double total(const BenchEvent &e)
{
   double s = e.fRun + double(e.fNumber) + e.fTemperature;
   for (auto m : e.fMeasures)
      s += m;
   for (auto &row : e.fMatrix)
      for (auto m : row)
         s += m;
   for (auto &k : e.fTracks) {
      s += double(k.fPx) + k.fPy + k.fPz + k.fRandom + k.fMass2 + k.fBx + k.fBy + k.fMeanCharge;
      s += k.fXfirst + k.fXlast + k.fYfirst + k.fYlast + k.fZfirst + k.fZlast + k.fCharge + k.fNpoint + k.fValid;
   }
   return s;
}

double total(const Lists2 &v)
{
   double s = 0;
   for (auto &w : v)
      for (auto x : w)
         s += x;
   return s;
}

template <class C>
double total_of(const C &v)
{
   double s = 0;
   for (auto x : v)
      s += x;
   return s;
}

// What the entry that was read last adds to the sum.
using Adder = std::function<double()>;

template <class T>
Adder leaf_adder(TBranch *b, TLeaf *l, std::vector<std::shared_ptr<void>> &keep)
{
   auto counter = l->GetLeafCount();
   int most = l->GetLenStatic() * (counter ? counter->GetMaximum() + 1 : 1);
   std::shared_ptr<T> values(new T[most], std::default_delete<T[]>());
   keep.push_back(values);
   b->SetAddress(values.get());
   if (!counter && most == 1)
      return [p = values.get()] { return double(*p); };
   return [p = values.get(), l] {
      double s = 0;
      for (int i = 0, n = l->GetLen(); i < n; ++i)
         s += p[i];
      return s;
   };
}

template <class T>
Adder object_adder(TTree *t, TBranch *b, std::vector<std::shared_ptr<void>> &keep, std::function<double(const T &)> sum)
{
   auto value = std::make_shared<T *>(new T());
   keep.push_back(value);
   t->SetBranchAddress(b->GetName(), value.get());
   return [value, sum] { return sum(**value); };
}

Adder adder(TTree *t, TBranch *b, std::vector<std::shared_ptr<void>> &keep)
{
   std::string cl = b->GetClassName();
   if (cl == "vector<float>")
      return object_adder<std::vector<float>>(t, b, keep, [](auto &v) { return total_of(v); });
   if (cl == "vector<int>")
      return object_adder<std::vector<int>>(t, b, keep, [](auto &v) { return total_of(v); });
   if (cl == "vector<vector<float> >")
      return object_adder<Lists2>(t, b, keep, [](auto &v) { return total(v); });
   if (cl == "string")
      return object_adder<std::string>(t, b, keep, [](auto &v) { return double(v.size()); });
   if (cl == "BenchEvent")
      return object_adder<BenchEvent>(t, b, keep, [](auto &v) { return total(v); });
   auto l = (TLeaf *)b->GetListOfLeaves()->At(0);
   std::string type = l->GetTypeName();
   if (type == "Float_t")
      return leaf_adder<Float_t>(b, l, keep);
   if (type == "Double_t")
      return leaf_adder<Double_t>(b, l, keep);
   return leaf_adder<Int_t>(b, l, keep);
}

template <class T, class F>
Adder value_adder(TTreeReader &r, const char *name, F sum)
{
   auto v = std::make_shared<TTreeReaderValue<T>>(r, name);
   return [v, sum] { return sum(**v); };
}

template <class T>
Adder array_adder(TTreeReader &r, const char *name)
{
   auto v = std::make_shared<TTreeReaderArray<T>>(r, name);
   return [v] { return total_of(*v); };
}

// Leaves that hold values, with their names for TTreeReader and RDataFrame.
void each_leaf(TTree *t, const Names &wanted, const std::function<void(const std::string &, const std::string &, bool)> &f)
{
   std::function<void(TBranch *)> walk = [&](TBranch *b) {
      if (b->GetListOfBranches()->GetEntries()) {
         for (auto s : *b->GetListOfBranches())
            walk((TBranch *)s);
         return;
      }
      std::string cl = b->GetClassName(), name = b->GetName();
      auto l = (TLeaf *)b->GetListOfLeaves()->At(0);
      std::string type = l->GetTypeName();
      if (!cl.empty() && cl != "BenchEvent" && cl != "BenchTrack")
         type = cl;
      else if (type == "vector<BenchTrack>" || b->GetTree() == nullptr)
         return;
      else if (cl == "BenchEvent" && !strchr(l->GetName(), '.') && !strncmp(b->GetName(), "event", 5))
         type = cl;
      f(name, type, l->GetLeafCount() || l->GetLenStatic() > 1);
   };
   for (auto b : chosen(t, wanted))
      walk(b);
}

} // namespace

double root_getentry(const char *path, const Names &wanted)
{
   Source s(path);
   only(s.tree, wanted);
   std::vector<std::shared_ptr<void>> keep;
   std::vector<Adder> adders;
   for (auto b : chosen(s.tree, wanted))
      adders.push_back(adder(s.tree, b, keep));
   double sum = 0;
   for (Long64_t e = 0, n = s.tree->GetEntries(); e < n; ++e) {
      s.tree->GetEntry(e);
      for (auto &a : adders)
         sum += a();
   }
   s.tree->ResetBranchAddresses();
   return sum;
}

double root_ttreereader(const char *path, const Names &wanted)
{
   Source s(path);
   TTreeReader r(s.tree);
   std::vector<Adder> adders;
   each_leaf(s.tree, wanted, [&](const std::string &name, const std::string &type, bool many) {
      auto n = name.c_str();
      auto number = [](auto x) { return double(x); };
      if (type == "vector<float>")
         adders.push_back(array_adder<float>(r, n));
      else if (type == "vector<int>")
         adders.push_back(array_adder<int>(r, n));
      else if (type == "vector<vector<float> >")
         adders.push_back(value_adder<Lists2>(r, n, [](auto &v) { return total(v); }));
      else if (type == "string")
         adders.push_back(value_adder<std::string>(r, n, [](auto &v) { return double(v.size()); }));
      else if (type == "BenchEvent")
         adders.push_back(value_adder<BenchEvent>(r, n, [](auto &v) { return total(v); }));
      else if (type == "Float_t")
         adders.push_back(many ? array_adder<Float_t>(r, n) : value_adder<Float_t>(r, n, number));
      else if (type == "Double_t")
         adders.push_back(many ? array_adder<Double_t>(r, n) : value_adder<Double_t>(r, n, number));
      else if (type == "Double32_t")
         adders.push_back(many ? array_adder<Double32_t>(r, n) : value_adder<Double32_t>(r, n, number));
      else if (type == "Int_t")
         adders.push_back(many ? array_adder<Int_t>(r, n) : value_adder<Int_t>(r, n, number));
      else if (type == "Short_t")
         adders.push_back(many ? array_adder<Short_t>(r, n) : value_adder<Short_t>(r, n, number));
      else if (type == "Long64_t")
         adders.push_back(value_adder<Long64_t>(r, n, number));
      else
         throw std::runtime_error("no reader for " + name + " of type " + type);
   });
   double sum = 0;
   while (r.Next())
      for (auto &a : adders)
         sum += a();
   return sum;
}

// Whole baskets at once; ROOT offers it for leaves of fixed size only.
double root_bulk(const char *path, const Names &wanted)
{
   Source s(path);
   double sum = 0;
   for (auto b : chosen(s.tree, wanted)) {
      TBufferFile buffer(TBuffer::kWrite, 32 * 1024);
      std::string type = ((TLeaf *)b->GetListOfLeaves()->At(0))->GetTypeName();
      for (Long64_t e = 0, n = b->GetEntries(); e < n;) {
         auto got = b->GetBulkRead().GetBulkEntries(e, buffer);
         if (got <= 0)
            throw std::runtime_error(std::string("no bulk reading of ") + b->GetName());
         auto p = buffer.GetCurrent();
         for (int i = 0; i < got; ++i)
            sum += type == "Float_t" ? ((float *)p)[i] : type == "Double_t" ? ((double *)p)[i] : ((int *)p)[i];
         e += got;
      }
   }
   return sum;
}

double root_rdataframe(const char *path, const Names &wanted, int threads)
{
   if (threads > 1)
      ROOT::EnableImplicitMT(threads);
   double sum = 0;
   {
      ROOT::RDataFrame frame("tree", path);
      ROOT::RDF::RNode node = frame;
      std::vector<std::function<double()>> results;
      Source s(path);
      auto keep = [&](auto result) { results.push_back([result]() mutable { return double(*result); }); };
      int k = 0;
      auto defined = [&](auto f, const std::string &name) {
         auto column = "sum_of_" + std::to_string(k++);
         node = node.Define(column, f, {name});
         keep(node.Sum<double>(column));
      };
      each_leaf(s.tree, wanted, [&](const std::string &name, const std::string &type, bool many) {
         if (type == "vector<float>" || (type == "Float_t" && many))
            keep(node.Sum<ROOT::RVecF>(name, 0.f));
         else if (type == "vector<int>" || (type == "Int_t" && many))
            keep(node.Sum<ROOT::RVecI>(name, 0));
         else if (type == "Double32_t")
            keep(node.Sum<ROOT::RVec<Double32_t>>(name, 0.));
         else if (type == "Short_t")
            defined([](const ROOT::RVec<Short_t> &v) { return total_of(v); }, name);
         else if (type == "vector<vector<float> >")
            defined([](const Lists2 &v) { return total(v); }, name);
         else if (type == "string")
            defined([](const std::string &v) { return double(v.size()); }, name);
         else if (type == "BenchEvent")
            defined([](const BenchEvent &v) { return total(v); }, name);
         else if (type == "Float_t")
            keep(node.Aggregate([](double a, float x) { return a + x; }, [](double a, double b) { return a + b; }, name, 0.));
         else if (type == "Double_t")
            keep(node.Sum<double>(name));
         else if (type == "Int_t")
            keep(node.Aggregate([](double a, int x) { return a + x; }, [](double a, double b) { return a + b; }, name, 0.));
         else if (type == "Long64_t")
            keep(node.Sum<Long64_t>(name));
         else
            throw std::runtime_error("no column for " + name + " of type " + type);
      });
      for (auto &r : results)
         sum += r();
   }
   return sum;
}

// Only the tree's record: its branches, leaves and basket tables.
double root_open(const char *path)
{
   Source s(path);
   return s.tree->GetListOfBranches()->GetEntries();
}

#endif
