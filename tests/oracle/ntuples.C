// RNTuples with fields of many types: values that follow from the number of the entry, and what ROOT reads as JSON.
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <ROOT/RVec.hxx>
#include <TFile.h>
#include <TTree.h>

#include <array>
#include <atomic>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iomanip>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace ntuples {

enum Colour { kRed = -1, kGreen = 7, kBlue = 100000 };
enum class Small : std::uint8_t { a = 3, b = 250 };
struct Base { std::int32_t fBase = 0; std::string fName; };
struct Other { float fOther = 0; };
struct Derived : public Base, public Other { std::vector<double> fValues; std::array<std::int16_t, 3> fThree{}; Base fMember; };
struct Nothing {};

template <class T, class = void> struct Value;

template <class T> void fill(T &value, int seed) { Value<T>::set(value, seed); }
template <class T> void json(std::ostream &out, const T &value) { Value<T>::write(out, value); }

template <class Range> void list(std::ostream &out, const Range &range)
{
   const char *comma = "";
   out << '[';
   for (const auto &item : range) {
      out << comma;
      json(out, item);
      comma = ",";
   }
   out << ']';
}

template <class T> struct Value<T, std::enable_if_t<std::is_integral_v<T>>> {
   static void set(T &value, int seed)
   {
      if constexpr (std::is_same_v<T, bool>) value = seed % 3 == 1;
      else if (seed % 11 == 0) value = std::numeric_limits<T>::max();
      else if (seed % 13 == 0) value = std::numeric_limits<T>::min();
      else value = T(std::int64_t(seed) * 2654435761LL - 77);
   }
   static void write(std::ostream &out, const T &value) { out << +value; }
};
template <class T> struct Value<T, std::enable_if_t<std::is_floating_point_v<T>>> {
   static void set(T &value, int seed)
   {
      value = seed % 17 == 0 ? std::numeric_limits<T>::infinity() : seed % 19 == 0 ? -T(0) : T(std::sin(seed) * std::pow(10, seed % 9));
   }
   static void write(std::ostream &out, const T &value)
   {
      if (std::isnan(value)) out << "\"nan\"";
      else if (std::isinf(value)) out << (value > 0 ? "\"inf\"" : "\"-inf\"");
      else out << std::setprecision(17) << double(value);
   }
};
template <class T> struct Value<T, std::enable_if_t<std::is_enum_v<T>>> {
   static void set(T &value, int seed)
   {
      if constexpr (std::is_same_v<T, Colour>) value = std::array{kRed, kGreen, kBlue}[seed % 3];
      else if constexpr (std::is_same_v<T, std::byte>) value = std::byte(seed);
      else value = seed % 2 ? T::a : T::b;
   }
   static void write(std::ostream &out, const T &value) { out << std::int64_t(static_cast<std::underlying_type_t<T>>(value)); }
};
template <> struct Value<std::string> {
   static void set(std::string &value, int seed) { value = seed % 4 == 0 ? "" : std::string(seed % 5 * 3, char('a' + seed % 26)) + std::to_string(seed); }
   static void write(std::ostream &out, const std::string &value) { out << '"' << value << '"'; }
};
template <class T> struct Value<std::vector<T>> {
   static void set(std::vector<T> &value, int seed)
   {
      value.clear();
      for (int k = 0; k < seed % 4; k++) {
         T item{};
         fill(item, seed * 5 + k);
         value.push_back(std::move(item));
      }
   }
   static void write(std::ostream &out, const std::vector<T> &value) { list(out, value); }
};
template <class T> struct Value<ROOT::RVec<T>> {
   static void set(ROOT::RVec<T> &value, int seed)
   {
      value.clear();
      for (int k = 0; k < seed % 4; k++) {
         T item{};
         fill(item, seed * 5 + k);
         value.push_back(item);
      }
   }
   static void write(std::ostream &out, const ROOT::RVec<T> &value) { list(out, value); }
};
template <> struct Value<std::vector<bool>> {
   static void set(std::vector<bool> &value, int seed)
   {
      value.clear();
      for (int k = 0; k < seed % 10; k++) value.push_back((seed >> k) & 1);
   }
   static void write(std::ostream &out, const std::vector<bool> &value)
   {
      const char *comma = "";
      out << '[';
      for (bool one : value) {
         out << comma << one;
         comma = ",";
      }
      out << ']';
   }
};
template <class T, std::size_t N> struct Value<std::array<T, N>> {
   static void set(std::array<T, N> &value, int seed) { for (std::size_t k = 0; k < N; k++) fill(value[k], seed * 3 + int(k)); }
   static void write(std::ostream &out, const std::array<T, N> &value) { list(out, value); }
};
template <std::size_t N> struct Value<std::bitset<N>> {
   static void set(std::bitset<N> &value, int seed) { for (std::size_t k = 0; k < N; k++) value[k] = (seed * 31 + int(k) * 7) % 3 == 0; }
   static void write(std::ostream &out, const std::bitset<N> &value)
   {
      out << '[';
      for (std::size_t k = 0; k < N; k++) out << (k ? "," : "") << value[k];
      out << ']';
   }
};
template <class Set> struct Sets {
   static void set(Set &value, int seed)
   {
      value.clear();
      for (int k = 0; k < seed % 5; k++) {
         typename Set::value_type item{};
         fill(item, seed + k);
         value.insert(item);
         value.insert(item);
      }
   }
   static void write(std::ostream &out, const Set &value) { list(out, value); }
};
template <class T> struct Value<std::set<T>> : Sets<std::set<T>> {};
template <class T> struct Value<std::multiset<T>> : Sets<std::multiset<T>> {};
template <class T> struct Value<std::unordered_set<T>> : Sets<std::unordered_set<T>> {};
template <class T> struct Value<std::unordered_multiset<T>> : Sets<std::unordered_multiset<T>> {};
template <class Map> struct Maps {
   static void set(Map &value, int seed)
   {
      value.clear();
      for (int k = 0; k < seed % 4; k++) {
         typename Map::key_type key{};
         typename Map::mapped_type item{};
         fill(key, seed + k);
         fill(item, seed * 2 + k);
         value.insert({key, item});
         value.insert({key, item});
      }
   }
   static void write(std::ostream &out, const Map &value)
   {
      const char *comma = "";
      out << '[';
      for (const auto &[key, item] : value) {
         out << comma << '[';
         json(out, key);
         out << ',';
         json(out, item);
         out << ']';
         comma = ",";
      }
      out << ']';
   }
};
template <class K, class V> struct Value<std::map<K, V>> : Maps<std::map<K, V>> {};
template <class K, class V> struct Value<std::multimap<K, V>> : Maps<std::multimap<K, V>> {};
template <class K, class V> struct Value<std::unordered_map<K, V>> : Maps<std::unordered_map<K, V>> {};
template <class K, class V> struct Value<std::unordered_multimap<K, V>> : Maps<std::unordered_multimap<K, V>> {};
template <class A, class B> struct Value<std::pair<A, B>> {
   static void set(std::pair<A, B> &value, int seed)
   {
      fill(value.first, seed);
      fill(value.second, seed + 1);
   }
   static void write(std::ostream &out, const std::pair<A, B> &value)
   {
      out << '[';
      json(out, value.first);
      out << ',';
      json(out, value.second);
      out << ']';
   }
};
template <class... Ts> struct Value<std::tuple<Ts...>> {
   static void set(std::tuple<Ts...> &value, int seed)
   {
      std::apply([&](auto &...items) { (fill(items, seed++), ...); }, value);
   }
   static void write(std::ostream &out, const std::tuple<Ts...> &value)
   {
      const char *comma = "[";
      std::apply([&](const auto &...items) { ((out << comma, json(out, items), comma = ","), ...); }, value);
      out << ']';
   }
};
template <class... Ts> struct Value<std::variant<Ts...>> {
   template <std::size_t K> static void choose(std::variant<Ts...> &value, int seed)
   {
      if (seed % sizeof...(Ts) == K) fill(value.template emplace<K>(), seed);
      if constexpr (K > 0) choose<K - 1>(value, seed);
   }
   static void set(std::variant<Ts...> &value, int seed) { choose<sizeof...(Ts) - 1>(value, seed); }
   static void write(std::ostream &out, const std::variant<Ts...> &value)
   {
      std::visit([&](const auto &item) { json(out, item); }, value);
   }
};
template <class T> struct Value<std::optional<T>> {
   static void set(std::optional<T> &value, int seed)
   {
      value.reset();
      if (seed % 3) fill(value.emplace(), seed);
   }
   static void write(std::ostream &out, const std::optional<T> &value)
   {
      if (value) json(out, *value);
      else out << "null";
   }
};
template <class T> struct Value<std::unique_ptr<T>> {
   static void set(std::unique_ptr<T> &value, int seed)
   {
      value.reset();
      if (seed % 3) fill(*(value = std::make_unique<T>()), seed);
   }
   static void write(std::ostream &out, const std::unique_ptr<T> &value)
   {
      if (value) json(out, *value);
      else out << "null";
   }
};
template <class T> struct Value<std::atomic<T>> {
   static void set(std::atomic<T> &value, int seed)
   {
      T item{};
      fill(item, seed);
      value = item;
   }
   static void write(std::ostream &out, const std::atomic<T> &value) { json(out, value.load()); }
};
template <> struct Value<Base> {
   static void set(Base &value, int seed)
   {
      fill(value.fBase, seed);
      fill(value.fName, seed + 2);
   }
   static void write(std::ostream &out, const Base &value)
   {
      out << "{\"fBase\":";
      json(out, value.fBase);
      out << ",\"fName\":";
      json(out, value.fName);
      out << '}';
   }
};
template <> struct Value<Derived> {
   static void set(Derived &value, int seed)
   {
      fill<Base>(value, seed);
      fill(value.fOther, seed + 3);
      fill(value.fValues, seed + 4);
      fill(value.fThree, seed + 5);
      fill(value.fMember, seed + 6);
   }
   static void write(std::ostream &out, const Derived &value)
   {
      out << "{\"fBase\":" << value.fBase << ",\"fName\":";
      json(out, value.fName);
      out << ",\"fOther\":";
      json(out, value.fOther);
      out << ",\"fValues\":";
      json(out, value.fValues);
      out << ",\"fThree\":";
      json(out, value.fThree);
      out << ",\"fMember\":";
      json(out, value.fMember);
      out << '}';
   }
};

// The type of a field's values in a tree; void where trees do not hold them.
template <class T, class = void> struct InTree { using type = T; };
template <class T> struct InTree<T, std::enable_if_t<std::is_enum_v<T>>> { using type = std::underlying_type_t<T>; };
template <class T> struct VectorOf { using type = std::vector<T>; };
template <> struct VectorOf<void> { using type = void; };
template <class T> struct InTree<std::vector<T>> : VectorOf<typename InTree<T>::type> {};
template <> struct InTree<std::vector<Colour>> { using type = std::vector<int>; };
template <> struct InTree<std::unordered_set<std::int64_t>> { using type = std::unordered_set<Long64_t>; };
template <> struct InTree<std::unordered_multimap<std::int64_t, std::string>> { using type = std::unordered_multimap<Long64_t, std::string>; };
template <class T> struct InTree<ROOT::RVec<T>> { using type = std::vector<typename InTree<T>::type>; };
template <std::size_t N> struct InTree<std::bitset<N>> { using type = std::array<bool, N>; };
template <class T> struct InTree<std::atomic<T>> { using type = T; };
template <class... Ts> struct InTree<std::tuple<Ts...>> { using type = void; };
template <class... Ts> struct InTree<std::variant<Ts...>> { using type = void; };
template <class T> struct InTree<std::optional<T>> : VectorOf<typename InTree<T>::type> {};
template <class T> struct InTree<std::unique_ptr<T>> : VectorOf<typename InTree<T>::type> {};
template <std::size_t N> struct InTree<std::vector<std::bitset<N>>> { using type = std::vector<std::vector<bool>>; };
template <> struct InTree<std::array<std::vector<std::int32_t>, 2>> { using type = std::vector<std::vector<std::int32_t>>; };
template <> struct InTree<std::vector<std::array<std::string, 2>>> { using type = std::vector<std::vector<std::string>>; };
template <> struct InTree<std::array<Base, 2>> { using type = std::vector<Base>; };

template <class T> void dump_branch(TTree &tree, const std::string &name, std::ostream &out)
{
   using V = typename InTree<T>::type;
   if constexpr (!std::is_void_v<V>) {
      constexpr bool plain = std::is_arithmetic_v<V> || std::is_trivially_copyable_v<V>;
      std::conditional_t<plain, V, V *> value{};
      tree.ResetBranchAddresses();
      if constexpr (plain) tree.SetBranchAddress(name.c_str(), static_cast<void *>(&value));
      else tree.SetBranchAddress(name.c_str(), &value);
      const char *comma = "[";
      for (Long64_t entry = 0; entry < tree.GetEntries(); entry++) {
         tree.GetBranch(name.c_str())->GetEntry(entry);
         out << comma;
         if constexpr (plain) json(out, value);
         else json(out, *value);
         comma = ",";
      }
      out << (comma[0] == '[' ? "[]" : "]");
      tree.ResetBranchAddresses();
   }
}

// A field of an RNTuple that is written, and later read, from a tree as well.
struct Field {
   std::string name;
   std::function<void(ROOT::RNTupleModel &)> add;
   std::function<void(ROOT::REntry &, int)> set;
   std::function<void(ROOT::RNTupleReader &, std::ostream &)> dump;
   std::function<void(TTree &, std::ostream &)> dump_tree;
};

template <class T> void dump_field(ROOT::RNTupleReader &reader, const std::string &name, std::ostream &out)
{
   auto view = reader.GetView<T>(name);
   const char *comma = "[";
   for (auto entry : reader) {
      out << comma;
      json(out, view(entry));
      comma = ",";
   }
   out << (comma[0] == '[' ? "[]" : "]");
}

template <class T> Field field(const std::string &name)
{
   return {name, [=](ROOT::RNTupleModel &model) { model.MakeField<T>(name); },
           [=](ROOT::REntry &entry, int number) { fill(*entry.GetPtr<T>(name), number); },
           [=](ROOT::RNTupleReader &reader, std::ostream &out) { dump_field<T>(reader, name, out); },
           [=](TTree &tree, std::ostream &out) { dump_branch<T>(tree, name, out); }};
}

inline std::vector<Field> all_fields()
{
   using S = std::string;
   using I = std::int32_t;
   return {
      field<bool>("bool"), field<char>("char"), field<std::byte>("byte"), field<std::int8_t>("int8"), field<std::uint8_t>("uint8"),
      field<std::int16_t>("int16"), field<std::uint16_t>("uint16"), field<I>("int32"), field<std::uint32_t>("uint32"),
      field<std::int64_t>("int64"), field<std::uint64_t>("uint64"), field<float>("float"), field<double>("double"), field<S>("string"),
      field<Colour>("enum"), field<Small>("small_enum"), field<std::vector<Colour>>("enums"),
      field<std::vector<I>>("vector"), field<std::vector<bool>>("bools"), field<std::vector<S>>("strings"),
      field<std::vector<std::vector<float>>>("nested"), field<std::vector<std::vector<std::vector<S>>>>("deep"),
      field<ROOT::RVec<double>>("rvec"), field<ROOT::RVec<ROOT::RVec<I>>>("rvecs"),
      field<std::array<float, 3>>("array"), field<std::array<std::array<std::int16_t, 2>, 3>>("arrays"),
      field<std::array<std::vector<I>, 2>>("array_of_vectors"), field<std::vector<std::array<S, 2>>>("vector_of_arrays"),
      field<std::bitset<5>>("bits"), field<std::bitset<70>>("more_bits"), field<std::vector<std::bitset<9>>>("vector_of_bits"),
      field<std::pair<I, S>>("pair"), field<std::vector<std::pair<float, std::vector<I>>>>("pairs"),
      field<std::tuple<I, S, double>>("tuple"), field<std::vector<std::tuple<S, std::int8_t>>>("tuples"),
      field<std::variant<I, S>>("variant"), field<std::vector<std::variant<S, double, std::vector<I>>>>("variants"),
      field<std::optional<double>>("optional"), field<std::vector<std::optional<S>>>("optionals"), field<std::optional<std::vector<I>>>("optional_vector"),
      field<std::unique_ptr<std::int64_t>>("pointer"), field<std::vector<std::unique_ptr<S>>>("pointers"), field<std::unique_ptr<Base>>("object_pointer"),
      field<std::set<I>>("set"), field<std::multiset<S>>("multiset"), field<std::unordered_set<std::int64_t>>("unordered_set"),
      field<std::unordered_multiset<I>>("unordered_multiset"),
      field<std::map<I, S>>("map"), field<std::multimap<S, float>>("multimap"), field<std::unordered_map<I, std::vector<I>>>("unordered_map"),
      field<std::unordered_multimap<std::int64_t, S>>("unordered_multimap"), field<std::map<S, std::map<I, double>>>("maps"),
      field<std::atomic<std::int64_t>>("atomic"), field<std::atomic<float>>("atomic_float"),
      field<Base>("object"), field<Derived>("derived"), field<std::vector<Derived>>("objects"), field<std::vector<std::vector<Base>>>("lists_of_objects"),
      field<std::array<Base, 2>>("array_of_objects"), field<std::map<I, Base>>("map_of_objects"), field<std::variant<Base, I>>("variant_of_objects"),
      field<std::optional<std::variant<I, S>>>("optional_variant"), field<std::vector<std::unique_ptr<std::variant<I, S>>>>("pointers_to_variants"),
   };
}

inline ROOT::RNTupleWriteOptions options(int compression, int flags)
{
   ROOT::RNTupleWriteOptions options;
   options.SetCompression(compression);
   options.SetUseImplicitMT(ROOT::RNTupleWriteOptions::EImplicitMT::kOff);
   if (flags & 1) options.SetMaxUnzippedPageSize(512);
   if (flags & 1) options.SetInitialUnzippedPageSize(128);
   if (flags & 2) options.SetEnablePageChecksums(false);
   if (flags & 4) options.SetUseBufferedWrite(false);
   if (flags & 8) ROOT::Internal::RNTupleWriteOptionsManip::SetMaxKeySize(options, 3000);
   return options;
}

// flags: 1 small pages, 2 no checksums, 4 unbuffered, 8 small keys, 16 a field added late, 32 several cluster groups.
void write_all(const char *path, int compression, int entries, int cluster, int flags)
{
   auto fields = all_fields();
   auto model = ROOT::RNTupleModel::Create();
   model->SetDescription("fields of many types");
   for (auto &field : fields) field.add(*model);
   auto writer = ROOT::RNTupleWriter::Recreate(std::move(model), "all", path, options(compression, flags));
   std::vector<Field> late{field<float>("late_float"), field<std::vector<std::string>>("late_strings"), field<std::array<std::int16_t, 2>>("late_array"),
                           field<std::bitset<5>>("late_bits"), field<std::string>("late_string"), field<std::optional<std::int32_t>>("late_optional")};
   auto entry = writer->CreateEntry();
   for (int number = 0; number < entries; number++) {
      if (number == entries / 2 + 3 && flags & 16) {
         entry.reset();
         auto updater = writer->CreateModelUpdater();
         updater->BeginUpdate();
         updater->AddField(std::make_unique<ROOT::RField<float>>("late_float"));
         updater->AddField(std::make_unique<ROOT::RField<std::vector<std::string>>>("late_strings"));
         updater->AddField(std::make_unique<ROOT::RField<std::array<std::int16_t, 2>>>("late_array"));
         updater->AddField(std::make_unique<ROOT::RField<std::bitset<5>>>("late_bits"));
         updater->AddField(std::make_unique<ROOT::RField<std::string>>("late_string"));
         updater->AddField(std::make_unique<ROOT::RField<std::optional<std::int32_t>>>("late_optional"));
         updater->CommitUpdate();
         entry = writer->CreateEntry();
         for (auto &field : late) fields.push_back(field);
      }
      for (auto &field : fields) field.set(*entry, number);
      writer->Fill(*entry);
      if (cluster && number % cluster == cluster - 1) writer->CommitCluster(flags & 32 && number / cluster % 2);
   }
}

// Values of the fields that a file has, by views of their types.
void dump_all(const char *path, const char *name, const char *to, const std::vector<std::string> &wanted)
{
   auto fields = all_fields();
   for (auto &one : {field<float>("late_float"), field<std::vector<std::string>>("late_strings"), field<std::array<std::int16_t, 2>>("late_array"),
                     field<std::bitset<5>>("late_bits"), field<std::string>("late_string"), field<std::optional<std::int32_t>>("late_optional")})
      fields.push_back(one);
   auto reader = ROOT::RNTupleReader::Open(name, path);
   std::ofstream out(to);
   const char *comma = "{";
   for (auto &field : fields) {
      if (std::find(wanted.begin(), wanted.end(), field.name) == wanted.end()) continue;
      out << comma << '"' << field.name << "\":";
      field.dump(*reader, out);
      comma = ",";
   }
   out << (comma[0] == '{' ? "{}" : "}");
}

// Values of the branches of a tree that was made of these fields.
void dump_tree(const char *path, const char *name, const char *to)
{
   TFile file(path);
   auto *tree = file.Get<TTree>(name);
   std::ofstream out(to);
   const char *comma = "{";
   for (auto &field : all_fields()) {
      if (!tree->GetBranch(field.name.c_str())) continue;
      out << comma << '"' << field.name << "\":";
      field.dump_tree(*tree, out);
      comma = ",";
   }
   out << '}';
}

} // namespace ntuples

#ifdef __CLING__
#pragma link C++ namespace ntuples;
#pragma link C++ enum ntuples::Colour;
#pragma link C++ enum ntuples::Small;
#pragma link C++ class ntuples::Base+;
#pragma link C++ class ntuples::Other+;
#pragma link C++ class ntuples::Derived+;
#pragma link C++ class std::map<int, std::string>+;
#pragma link C++ class std::map<int, double>+;
#pragma link C++ class std::map<int, ntuples::Base>+;
#pragma link C++ class std::map<std::string, std::map<int, double>>+;
#pragma link C++ class std::multimap<std::string, float>+;
#pragma link C++ class std::unordered_map<int, std::vector<int>>+;
#pragma link C++ class std::unordered_multimap<long, std::string>+;
#pragma link C++ function ntuples::write_all;
#pragma link C++ function ntuples::dump_all;
#pragma link C++ function ntuples::dump_tree;
#pragma link C++ class std::pair<int, std::string>+;
#pragma link C++ class std::vector<std::pair<float, std::vector<int>>>+;
#pragma link C++ class std::set<int>+;
#pragma link C++ class std::multiset<std::string>+;
#pragma link C++ class std::unordered_set<Long64_t>+;
#pragma link C++ class std::unordered_multimap<Long64_t, std::string>+;
#pragma link C++ class std::unordered_multiset<int>+;
#pragma link C++ class std::vector<ntuples::Derived>+;
#pragma link C++ class std::vector<std::vector<ntuples::Base>>+;
#pragma link C++ class std::vector<std::vector<float>>+;
#pragma link C++ class std::vector<std::vector<bool>>+;
#pragma link C++ class std::vector<std::vector<int>>+;
#pragma link C++ class std::vector<std::vector<std::vector<std::string>>>+;
#endif
