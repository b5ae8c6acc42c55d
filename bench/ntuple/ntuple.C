// RNTuples of ROOT: writes the values of the benchmark, reads them in bulk, by entry and through RDataFrame. Each row is a
// struct whose `each` names its fields, so that all ways are written once.
#include <string>
#include <vector>

// One hit of a list of records.
struct BenchHit {
   float x = 0, y = 0, z = 0, energy = 0;
   int adc = 0;
};

// `entries` rows of a family into memory; 0 forgets them.
void ntuple_fill(const std::string &family, long entries, int fields);
void ntuple_write(const std::string &family, const std::string &path, int compression, long entries, long cluster, int threads);
double ntuple_read(const std::string &family, const std::string &way, const std::string &path,
                   const std::vector<std::string> &wanted, int threads);

#ifdef __ROOTCLING__
#pragma link C++ class BenchHit+;
#pragma link C++ class std::vector<BenchHit>+;
#endif

#ifndef __CLING__ // the interpreter only needs to know the names above

#include "values.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "ROOT/RDataFrame.hxx"
#include "ROOT/RNTupleModel.hxx"
#include "ROOT/RNTupleReader.hxx"
#include "ROOT/RNTupleView.hxx"
#include "ROOT/RNTupleWriteOptions.hxx"
#include "ROOT/RNTupleWriter.hxx"
#include "TROOT.h"

using namespace ROOT;
using namespace bench;
using Names = std::vector<std::string>;

namespace {

template <class T>
double total(const T &value)
{
   if constexpr (std::is_arithmetic_v<T>) {
      return value;
   } else if constexpr (std::is_same_v<T, BenchHit>) {
      return double(value.x) + value.y + value.z + value.energy + value.adc;
   } else {
      double s = 0;
      for (auto &x : value)
         s += total(x);
      return s;
   }
}

struct Flat {
   float f[10];
   double d[5];
   int i[5];
   template <class F>
   void each(F use)
   {
      for (int k = 0; k < 10; ++k)
         use("f" + std::to_string(k), f[k]);
      for (int k = 0; k < 5; ++k)
         use("d" + std::to_string(k), d[k]);
      for (int k = 0; k < 5; ++k)
         use("i" + std::to_string(k), i[k]);
   }
   void make(Source &s, long e)
   {
      f[0] = keep(s.bell(), 12), f[1] = keep(s.bell(), 12), f[2] = keep(s.falling(20), 12), f[3] = keep(10 + 2 * s.bell(), 12);
      f[4] = keep(50 * std::fabs(s.bell()), 12), f[5] = keep(0.01 * s.bell(), 12), f[6] = keep(6.2831853 * s.flat() - 3.1415927, 12);
      f[7] = keep(91.2 + 2.5 * s.bell(), 12), f[8] = keep(1000 * s.bell(), 12), f[9] = s.bits() & 0x70 ? -999.f : keep(s.flat(), 12);
      d[0] = keep_double(1e5 * s.bell(), 24), d[1] = 1.6e9 + double(e) * 1e-3, d[2] = keep_double(s.falling(1), 24);
      d[3] = keep_double(s.bell(), 24), d[4] = keep_double(s.flat(), 24);
      i[0] = 350000 + int(e / 100000), i[1] = int(e), i[2] = int(8 * std::fabs(s.bell())), i[3] = s.bits() & 256 ? 1 : -1;
      i[4] = int(s.bits() >> 40 & s.bits() >> 20 & 255);
   }
};

struct Lists {
   int run, event;
   std::vector<float> muon[4], jet[6];
   std::vector<int> charge;
   template <class F>
   void each(F use)
   {
      const char *of_muons[] = {"pt", "eta", "phi", "mass"}, *of_jets[] = {"pt", "eta", "phi", "mass", "btag", "area"};
      use("run", run);
      use("event", event);
      for (int k = 0; k < 4; ++k)
         use(std::string("Muon_") + of_muons[k], muon[k]);
      use("Muon_charge", charge);
      for (int k = 0; k < 6; ++k)
         use(std::string("Jet_") + of_jets[k], jet[k]);
   }
   void make(Source &s, long e)
   {
      run = 350000 + int(e / 100000), event = int(e);
      int muons = std::min(s.steps(1.4), 16), jets = std::clamp(int(5.5 + 2.5 * s.bell()), 0, 40);
      for (auto &v : muon)
         v.resize(muons);
      charge.resize(muons);
      for (auto &v : jet)
         v.resize(jets);
      for (int k = 0; k < muons; ++k) {
         muon[0][k] = keep(3 + s.falling(20), 10), muon[1][k] = keep(1.2 * s.bell(), 10);
         muon[2][k] = keep(6.2831853 * s.flat() - 3.1415927, 10), muon[3][k] = 0.10566f, charge[k] = s.bits() & 64 ? 1 : -1;
      }
      std::sort(muon[0].begin(), muon[0].end(), std::greater<float>());
      for (int k = 0; k < jets; ++k) {
         jet[0][k] = keep(15 + s.falling(30), 10), jet[1][k] = keep(2 * s.bell(), 10);
         jet[2][k] = keep(6.2831853 * s.flat() - 3.1415927, 10), jet[3][k] = keep(5 + 2 * std::fabs(s.bell()), 10);
         jet[4][k] = keep(s.flat(), 10), jet[5][k] = keep(0.5 + 0.02 * s.bell(), 10);
      }
      std::sort(jet[0].begin(), jet[0].end(), std::greater<float>());
   }
};

struct Nested {
   std::vector<std::vector<float>> weights;
   std::vector<std::vector<int>> links;
   std::vector<BenchHit> hits;
   template <class F>
   void each(F use)
   {
      use("weights", weights);
      use("links", links);
      use("hits", hits);
   }
   void make(Source &s, long)
   {
      weights.resize(std::min(s.steps(3.5), 30)), links.resize(std::min(s.steps(2.5), 30)), hits.resize(std::min(s.steps(8), 60));
      for (auto &v : weights) {
         v.resize(std::min(s.steps(4.5), 60));
         for (auto &x : v)
            x = keep(s.bell(), 12);
      }
      for (auto &v : links) {
         v.resize(std::min(s.steps(3.5), 60));
         for (auto &x : v)
            x = int(s.bits() >> 20 & 1023);
      }
      for (auto &h : hits) {
         h.x = keep(10 * s.bell(), 12), h.y = keep(10 * s.bell(), 12), h.z = keep(50 * s.bell(), 12);
         h.energy = keep(s.falling(2), 10), h.adc = int(s.falling(100));
      }
   }
};

int wide_fields = 10'000;

struct Wide {
   std::vector<float> x = std::vector<float>(wide_fields);
   template <class F>
   void each(F use)
   {
      char name[16];
      for (int k = 0; k < int(x.size()); ++k) {
         snprintf(name, sizeof name, "b%05d", k);
         use(std::string(name), x[k]);
      }
   }
   void make(Source &s, long)
   {
      for (int k = 0; k < int(x.size()); ++k)
         x[k] = k % 5 == 0 ? float(k) : keep((k % 7 + 1) * s.bell(), 10);
   }
};

template <class R>
std::vector<R> &rows()
{
   static std::vector<R> all;
   return all;
}

// Copies row by row, so that the memory of the entry stays where it is bound.
void put(Flat &to, const Flat &from) { to = from; }
void put(Lists &to, const Lists &from) { to = from; }
void put(Nested &to, const Nested &from) { to = from; }
void put(Wide &to, const Wide &from) { std::copy(from.x.begin(), from.x.end(), to.x.begin()); }

// A family by its name.
template <class F>
auto chosen(const std::string &family, F use)
{
   if (family == "flat")
      return use(Flat());
   if (family == "lists")
      return use(Lists());
   if (family == "nested")
      return use(Nested());
   if (family == "wide")
      return use(Wide());
   throw std::runtime_error("no family " + family);
}

int seed_of(const Flat &) { return 1; }
int seed_of(const Lists &) { return 2; }
int seed_of(const Nested &) { return 3; }
int seed_of(const Wide &) { return 5; }

bool wants(const Names &wanted, const std::string &name)
{
   return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
}

template <class R>
std::unique_ptr<RNTupleModel> model_of(R &row, const Names &wanted)
{
   auto model = RNTupleModel::CreateBare();
   row.each([&](const std::string &name, auto &value) {
      if (wants(wanted, name))
         model->AddField(std::make_unique<RField<std::decay_t<decltype(value)>>>(name));
   });
   return model;
}

template <class R>
void bind(R &row, REntry &entry, const Names &wanted)
{
   row.each([&](const std::string &name, auto &value) {
      if (wants(wanted, name))
         entry.BindRawPtr(name, &value);
   });
}

template <class R>
double by_entry(const std::string &path, const Names &wanted)
{
   R row;
   auto reader = RNTupleReader::Open(model_of(row, wanted), "tree", path);
   auto entry = reader->GetModel().CreateBareEntry();
   bind(row, *entry, wanted);
   std::vector<std::function<double()>> adders;
   row.each([&](const std::string &name, auto &value) {
      if (wants(wanted, name))
         adders.push_back([&value] { return total(value); });
   });
   double sum = 0;
   for (auto i : *reader) {
      reader->LoadEntry(i, *entry);
      for (auto &add : adders)
         sum += add();
   }
   return sum;
}

// The values of one field in a cluster: its id, its first entry, its number of entries.
using InCluster = std::function<double(DescriptorId_t, NTupleSize_t, NTupleSize_t)>;

// A field of numbers, block after block.
template <class T>
InCluster bulk(RNTupleReader &reader, const std::string &name, const T &)
{
   auto values = std::make_shared<RFieldBase::RBulkValues>(reader.GetModel().CreateBulk(name));
   return [values](DescriptorId_t id, NTupleSize_t, NTupleSize_t entries) {
      const NTupleSize_t most = 4096;
      double sum = 0;
      for (NTupleSize_t at = 0; at < entries; at += most) {
         auto n = std::min(most, entries - at);
         auto p = static_cast<const T *>(values->ReadBulk(RNTupleLocalRange(id, at, at + n)));
         for (NTupleSize_t k = 0; k < n; ++k)
            sum += p[k];
      }
      return sum;
   };
}

// A list by its borders and the column of its elements.
template <class T>
InCluster bulk_items(RNTupleReader &reader, const std::string &name, const std::string &items_name)
{
   auto lists = std::make_shared<RNTupleCollectionView>(reader.GetCollectionView(name));
   auto items = std::make_shared<RNTupleDirectAccessView<T>>(reader.GetDirectAccessView<T>(items_name));
   return [lists, items](DescriptorId_t, NTupleSize_t first, NTupleSize_t entries) {
      double sum = 0;
      for (auto i = first; i < first + entries; ++i)
         for (auto j : lists->GetCollectionRange(i))
            sum += (*items)(j);
      return sum;
   };
}

template <class T>
InCluster bulk(RNTupleReader &reader, const std::string &name, const std::vector<T> &)
{
   if constexpr (std::is_arithmetic_v<T>) {
      return bulk_items<T>(reader, name, name + "._0");
   } else if constexpr (std::is_same_v<T, BenchHit>) {
      std::vector<InCluster> members;
      for (auto member : {"x", "y", "z", "energy"})
         members.push_back(bulk_items<float>(reader, name, name + "._0." + member));
      members.push_back(bulk_items<int>(reader, name, name + "._0.adc"));
      return [members](DescriptorId_t id, NTupleSize_t first, NTupleSize_t entries) {
         double sum = 0;
         for (auto &member : members)
            sum += member(id, first, entries);
         return sum;
      };
   } else {
      using V = typename T::value_type;
      auto lists = std::make_shared<RNTupleCollectionView>(reader.GetCollectionView(name));
      auto inner = std::make_shared<RNTupleCollectionView>(reader.GetCollectionView(name + "._0"));
      auto items = std::make_shared<RNTupleDirectAccessView<V>>(reader.GetDirectAccessView<V>(name + "._0._0"));
      return [lists, inner, items](DescriptorId_t, NTupleSize_t first, NTupleSize_t entries) {
         double sum = 0;
         for (auto i = first; i < first + entries; ++i)
            for (auto j : lists->GetCollectionRange(i))
               for (auto k : inner->GetCollectionRange(j))
                  sum += (*items)(k);
         return sum;
      };
   }
}

// Cluster after cluster, so that none is loaded twice; in a cluster field after field.
template <class R>
double in_bulk(const std::string &path, const Names &wanted)
{
   R row;
   auto reader = RNTupleReader::Open("tree", path);
   std::vector<InCluster> fields;
   row.each([&](const std::string &name, auto &value) {
      if (wants(wanted, name))
         fields.push_back(bulk(*reader, name, value));
   });
   auto &descriptor = reader->GetDescriptor();
   double sum = 0;
   for (auto id = descriptor.FindClusterId(0, 0); id != kInvalidDescriptorId; id = descriptor.FindNextClusterId(id)) {
      auto &cluster = descriptor.GetClusterDescriptor(id);
      for (auto &field : fields)
         sum += field(id, cluster.GetFirstEntryIndex(), cluster.GetNEntries());
   }
   return sum;
}

// What RDataFrame calls the type of a field.
template <class T>
struct Seen {
   using type = T;
};
template <class T>
struct Seen<std::vector<T>> {
   using type = RVec<typename Seen<T>::type>;
};

template <class R>
double by_frame(const std::string &path, const Names &wanted)
{
   R row;
   RDataFrame frame("tree", path);
   std::vector<ROOT::RDF::RResultPtr<double>> results;
   row.each([&](const std::string &name, auto &value) {
      if (!wants(wanted, name))
         return;
      using T = typename Seen<std::decay_t<decltype(value)>>::type;
      results.push_back(frame.Aggregate([](double a, const T &x) { return a + total(x); }, [](double a, double b) { return a + b; }, name, 0.));
   });
   double sum = 0;
   for (auto &r : results)
      sum += *r;
   return sum;
}

double open_only(const std::string &path, const std::string &way)
{
   auto reader = RNTupleReader::Open("tree", path);
   if (way == "open")
      return double(reader->GetNEntries());
   if (way == "one") {
      auto view = reader->GetView<float>("b00007");
      double sum = 0;
      for (auto i : reader->GetEntryRange())
         sum += view(i);
      return sum;
   }
   double length = 0;
   for (auto &field : reader->GetDescriptor().GetTopLevelFields())
      length += field.GetFieldName().size();
   return length;
}

} // namespace

void ntuple_fill(const std::string &family, long entries, int fields)
{
   wide_fields = fields ? fields : wide_fields;
   chosen(family, [&](auto row) {
      auto &all = rows<decltype(row)>();
      all.clear();
      all.shrink_to_fit();
      all.reserve(entries);
      Source source(seed_of(row));
      for (long e = 0; e < entries; ++e) {
         row.make(source, e);
         all.push_back(row);
      }
   });
}

void ntuple_write(const std::string &family, const std::string &path, int compression, long entries, long cluster, int threads)
{
   if (threads > 1)
      EnableImplicitMT(threads);
   chosen(family, [&](auto row) {
      RNTupleWriteOptions options;
      options.SetCompression(compression);
      options.SetUseImplicitMT(threads > 1 ? RNTupleWriteOptions::EImplicitMT::kDefault : RNTupleWriteOptions::EImplicitMT::kOff);
      auto writer = RNTupleWriter::Recreate(model_of(row, {}), "tree", path, options);
      auto entry = writer->CreateEntry();
      bind(row, *entry, {});
      auto &all = rows<decltype(row)>();
      for (long e = 0; e < entries; ++e) {
         put(row, all[e]);
         writer->Fill(*entry);
         if (cluster && (e + 1) % cluster == 0)
            writer->CommitCluster();
      }
   });
}

double ntuple_read(const std::string &family, const std::string &way, const std::string &path, const Names &wanted, int threads)
{
   if (threads > 1)
      EnableImplicitMT(threads);
   if (way == "open" || way == "names" || way == "one")
      return open_only(path, way);
   return chosen(family, [&](auto row) -> double {
      using R = decltype(row);
      if (way == "bulk")
         return in_bulk<R>(path, wanted);
      if (way == "entry")
         return by_entry<R>(path, wanted);
      return by_frame<R>(path, wanted);
   });
}

#endif
