// Sapwood for C++17 and later: owners of the objects of sapwood.h, errors as exceptions, columns as spans.
//
// Objects free themselves. What a span shows lives as long as the batch or histogram that it is of. Threads may share
// files, tables, writers and trees; a context, a stream and a batch are of one thread at a time.
// Licence: MIT or Apache 2.0, as you prefer.

#ifndef SAPWOOD_HPP
#define SAPWOOD_HPP

#include "sapwood.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_span
#include <span>
#endif

namespace sapwood {

#ifdef __cpp_lib_span
template <class T> using span = std::span<T>;
#else
// As much of std::span as is needed before C++20.
template <class T> class span {
public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  constexpr span() noexcept = default;
  constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
  template <class C, class = decltype(std::declval<C &>().data())>
  constexpr span(C &&values) noexcept : data_(values.data()), size_(values.size()) {}
  constexpr T *data() const noexcept { return data_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr T &operator[](std::size_t index) const { return data_[index]; }
  constexpr T *begin() const noexcept { return data_; }
  constexpr T *end() const noexcept { return data_ + size_; }
  constexpr span subspan(std::size_t first, std::size_t count) const { return {data_ + first, count}; }

private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};
#endif

// What went wrong: what() says what happened, and where; kind() is for programs.
class Error : public std::runtime_error {
public:
  explicit Error(const SapwoodError *error)
      : std::runtime_error(sapwood_error_message(error)), kind_(sapwood_error_kind(error)),
        file_(text(sapwood_error_file(error))), object_(text(sapwood_error_object(error))) {}
  Error(SapwoodErrorKind kind, const std::string &message) : std::runtime_error(message), kind_(kind) {}
  SapwoodErrorKind kind() const noexcept { return kind_; }
  // The file and the object in it that it is about, if it is about one.
  const std::string &file() const noexcept { return file_; }
  const std::string &object() const noexcept { return object_; }

private:
  static std::string text(const char *text) { return text == nullptr ? std::string() : std::string(text); }
  SapwoodErrorKind kind_;
  std::string file_, object_;
};

namespace detail {

template <auto Free> struct Freed {
  template <class T> void operator()(T *object) const noexcept { Free(object); }
};
template <class T, auto Free> using Owned = std::unique_ptr<T, Freed<Free>>;

// Throws what a call returned.
inline void check(SapwoodError *error) {
  if (error == nullptr) return;
  Owned<SapwoodError, sapwood_error_free> owned(error);
  throw Error(error);
}

[[noreturn]] inline void mismatch(const std::string &words) { throw Error(SAPWOOD_ERROR_KIND_MISMATCH, words); }

template <class T> inline constexpr bool always_false = false;

// The type of numbers as Sapwood names it.
template <class T> constexpr SapwoodType type_of() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, bool>) return SAPWOOD_TYPE_BOOL;
  else if constexpr (std::is_same_v<U, float>) return SAPWOOD_TYPE_FLOAT32;
  else if constexpr (std::is_same_v<U, double>) return SAPWOOD_TYPE_FLOAT64;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 1)
    return std::is_signed_v<U> ? SAPWOOD_TYPE_INT8 : SAPWOOD_TYPE_UINT8;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 2)
    return std::is_signed_v<U> ? SAPWOOD_TYPE_INT16 : SAPWOOD_TYPE_UINT16;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 4)
    return std::is_signed_v<U> ? SAPWOOD_TYPE_INT32 : SAPWOOD_TYPE_UINT32;
  else if constexpr (std::is_integral_v<U> && sizeof(U) == 8)
    return std::is_signed_v<U> ? SAPWOOD_TYPE_INT64 : SAPWOOD_TYPE_UINT64;
  else static_assert(always_false<T>, "a column holds numbers of 1 to 8 bytes, float or double");
}

// The same as Arrow's C interface names it.
template <class T> constexpr const char *format_of() {
  switch (type_of<T>()) {
  case SAPWOOD_TYPE_BOOL: return "b";
  case SAPWOOD_TYPE_INT8: return "c";
  case SAPWOOD_TYPE_UINT8: return "C";
  case SAPWOOD_TYPE_INT16: return "s";
  case SAPWOOD_TYPE_UINT16: return "S";
  case SAPWOOD_TYPE_INT32: return "i";
  case SAPWOOD_TYPE_UINT32: return "I";
  case SAPWOOD_TYPE_INT64: return "l";
  case SAPWOOD_TYPE_UINT64: return "L";
  case SAPWOOD_TYPE_FLOAT32: return "f";
  default: return "g";
  }
}

} // namespace detail

// The version of the library.
inline std::string version() { return sapwood_version(); }

// Threads and recycled memory that files share.
class Session {
public:
  // 0 stands for all cores that the process may use.
  explicit Session(std::uint32_t threads = 0) {
    SapwoodSession *made = nullptr;
    detail::check(sapwood_session_new(threads, &made));
    owned_.reset(made);
  }
  std::uint32_t threads() const { return sapwood_session_threads(owned_.get()); }
  const SapwoodSession *get() const noexcept { return owned_.get(); }

private:
  detail::Owned<SapwoodSession, sapwood_session_free> owned_;
};

// Lists of one number type: those of an entry are lists[entry].
template <class T> struct Lists {
  // Where each list begins in the values; the last one is where the last list ends.
  span<const std::int64_t> offsets;
  // The values of the lists one after another.
  span<const T> values;
  std::size_t size() const { return offsets.size() - 1; }
  span<const T> operator[](std::size_t entry) const {
    const auto first = static_cast<std::size_t>(offsets[entry] - offsets[0]);
    return values.subspan(first, static_cast<std::size_t>(offsets[entry + 1] - offsets[entry]));
  }
};

// Texts of entries: texts[entry].
struct Texts {
  span<const std::int64_t> offsets;
  const char *bytes;
  std::size_t size() const { return offsets.size() - 1; }
  std::string_view operator[](std::size_t entry) const {
    return {bytes + offsets[entry], static_cast<std::size_t>(offsets[entry + 1] - offsets[entry])};
  }
};

// Columns of consecutive entries. Spans of it live as long as it does.
class Batch {
public:
  Batch(const ArrowArray &array, std::shared_ptr<const ArrowSchema> schema)
      : array_(new ArrowArray(array)), schema_(std::move(schema)) {}
  std::size_t size() const { return static_cast<std::size_t>(array_->length); }
  // The numbers of a column with one for each entry, or with arrays of one length: those of all entries.
  template <class T> span<const T> column(std::string_view name) const {
    static_assert(!std::is_same_v<T, bool>, "Arrow packs bools into bits: use flags()");
    auto [array, schema] = find(name);
    std::int64_t first = array->offset + array_->offset, count = array_->length;
    while (std::strncmp(schema->format, "+w:", 3) == 0) {
      const std::int64_t items = std::stoll(schema->format + 3);
      schema = schema->children[0];
      array = array->children[0];
      first = first * items + array->offset;
      count *= items;
    }
    return numbers<T>(name, array, schema, first, count);
  }
  // The lists of a column.
  template <class T> Lists<T> lists(std::string_view name) const {
    auto [array, schema] = find(name);
    if (std::strcmp(schema->format, "+L") != 0) wrong(name, "+L", schema);
    const auto offsets = ends(array);
    const ArrowArray *items = array->children[0];
    const std::int64_t count = offsets[offsets.size() - 1] - offsets[0];
    return {offsets, numbers<T>(name, items, schema->children[0], items->offset + offsets[0], count)};
  }
  // The texts of a column.
  Texts texts(std::string_view name) const {
    auto [array, schema] = find(name);
    if (std::strcmp(schema->format, "U") != 0) wrong(name, "U", schema);
    return {ends(array), static_cast<const char *>(array->buffers[2])};
  }
  // The truth values of a column, copied: Arrow packs eight into a byte.
  std::vector<bool> flags(std::string_view name) const {
    auto [array, schema] = find(name);
    if (std::strcmp(schema->format, "b") != 0) wrong(name, "b", schema);
    const auto *bits = static_cast<const std::uint8_t *>(array->buffers[1]);
    std::vector<bool> flags(size());
    for (std::size_t row = 0; row < flags.size(); ++row) {
      const std::size_t at = row + static_cast<std::size_t>(array->offset + array_->offset);
      flags[row] = (bits[at / 8] >> (at % 8) & 1) != 0;
    }
    return flags;
  }
  // The same for libraries that speak Arrow: whoever takes it releases it.
  ArrowArray release() {
    ArrowArray taken = *array_;
    array_->release = nullptr;
    return taken;
  }
  const ArrowSchema &schema() const { return *schema_; }

private:
  struct Released {
    void operator()(ArrowArray *array) const noexcept {
      if (array->release != nullptr) array->release(array);
      delete array;
    }
  };
  std::pair<const ArrowArray *, const ArrowSchema *> find(std::string_view name) const {
    for (std::int64_t index = 0; index < schema_->n_children; ++index) {
      if (schema_->children[index]->name == name) return {array_->children[index], schema_->children[index]};
    }
    throw Error(SAPWOOD_ERROR_KIND_NOT_FOUND, "the batch has no column " + std::string(name));
  }
  [[noreturn]] static void wrong(std::string_view name, const char *wanted, const ArrowSchema *schema) {
    detail::mismatch("column " + std::string(name) + " is of Arrow's type \"" + schema->format + "\", and \"" + wanted +
                     "\" was asked for");
  }
  template <class T>
  static span<const T> numbers(std::string_view name, const ArrowArray *array, const ArrowSchema *schema,
                               std::int64_t first, std::int64_t count) {
    if (std::strcmp(schema->format, detail::format_of<T>()) != 0) wrong(name, detail::format_of<T>(), schema);
    if (count == 0) return {};
    return {static_cast<const T *>(array->buffers[1]) + first, static_cast<std::size_t>(count)};
  }
  span<const std::int64_t> ends(const ArrowArray *array) const {
    static constexpr std::int64_t none[1] = {0};
    if (size() == 0) return {none, 1};
    return {static_cast<const std::int64_t *>(array->buffers[1]) + array->offset + array_->offset, size() + 1};
  }
  std::unique_ptr<ArrowArray, Released> array_;
  std::shared_ptr<const ArrowSchema> schema_;
};

// Batches of a table, one after another: for (const auto &batch : table.read({...})).
class Stream {
public:
  explicit Stream(const ArrowArrayStream &stream) : stream_(new ArrowArrayStream(stream)) {
    auto *schema = new ArrowSchema();
    schema_ = std::shared_ptr<const ArrowSchema>(schema, [](ArrowSchema *last) {
      if (last->release != nullptr) last->release(last);
      delete last;
    });
    check(stream_->get_schema(stream_.get(), schema));
  }
  // The next batch; none at the end.
  std::optional<Batch> next() {
    ArrowArray array{};
    check(stream_->get_next(stream_.get(), &array));
    if (array.release == nullptr) return std::nullopt;
    return std::optional<Batch>(std::in_place, array, schema_);
  }
  const ArrowSchema &schema() const { return *schema_; }
  // The same for libraries that speak Arrow: whoever takes it releases it.
  ArrowArrayStream release() {
    ArrowArrayStream taken = *stream_;
    stream_->release = nullptr;
    return taken;
  }

  class iterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = Batch *;
    using reference = Batch &;
    explicit iterator(Stream *stream) : stream_(stream) { ++*this; }
    iterator() = default;
    Batch &operator*() { return *batch_; }
    Batch *operator->() { return &*batch_; }
    iterator &operator++() {
      batch_ = stream_->next();
      if (!batch_) stream_ = nullptr;
      return *this;
    }
    bool operator!=(const iterator &other) const { return stream_ != other.stream_; }
    bool operator==(const iterator &other) const { return stream_ == other.stream_; }

  private:
    Stream *stream_ = nullptr;
    std::optional<Batch> batch_;
  };
  iterator begin() { return iterator(this); }
  iterator end() { return iterator(); }

private:
  struct Released {
    void operator()(ArrowArrayStream *stream) const noexcept {
      if (stream->release != nullptr) stream->release(stream);
      delete stream;
    }
  };
  void check(int code) const {
    if (code == 0) return;
    if (const SapwoodError *error = sapwood_stream_error(stream_.get())) throw Error(error);
    const char *words = stream_->get_last_error(stream_.get());
    throw Error(SAPWOOD_ERROR_KIND_IO, words == nullptr ? "a stream of Arrow failed" : words);
  }
  std::unique_ptr<ArrowArrayStream, Released> stream_;
  std::shared_ptr<const ArrowSchema> schema_;
};

// A histogram that was drawn: spans of it live as long as it does.
class Histogram {
public:
  explicit Histogram(SapwoodHistogram *owned) : owned_(owned) {}
  std::string name() const { return sapwood_histogram_name(owned_.get()); }
  std::size_t axes() const { return sapwood_histogram_axes(owned_.get()); }
  // Edges of the bins of an axis.
  span<const double> edges(std::size_t axis = 0) const {
    const double *edges = nullptr;
    std::size_t count = 0;
    detail::check(sapwood_histogram_edges(owned_.get(), axis, &edges, &count));
    return {edges, count};
  }
  // Values of the bins, those below and above the axes included.
  span<const double> values() const { return all(sapwood_histogram_values); }
  span<const double> errors() const { return all(sapwood_histogram_errors); }
  const SapwoodHistogram *get() const noexcept { return owned_.get(); }

private:
  template <class F> span<const double> all(F function) const {
    const double *numbers = nullptr;
    std::size_t count = 0;
    detail::check(function(owned_.get(), &numbers, &count));
    return {numbers, count};
  }
  detail::Owned<SapwoodHistogram, sapwood_histogram_free> owned_;
};

// What is read of a table: everything, unless something is said.
struct Read {
  // Names of columns, or patterns like "Jet_*".
  std::vector<std::string> columns = {};
  // Only entries that pass this expression.
  std::string cut = {};
  std::uint64_t start = 0;
  std::uint64_t stop = UINT64_MAX;
  // Bytes that the columns of a batch take, about; 0 for 64 MB.
  std::uint64_t batch_bytes = 0;
};

// A column of a table.
struct Column {
  std::string name;
  // Its type, like "var * float32", and in words of C++; empty where it cannot be read.
  std::string type, cpp_type;
  std::string title;
  // Why it cannot be read; empty where it can be.
  std::string problem;
};

// A tree or an RNTuple.
class Table {
public:
  explicit Table(SapwoodTable *owned) : owned_(owned) {}
  std::uint64_t entries() const { return sapwood_table_entries(owned_.get()); }
  std::vector<Column> columns() const {
    SapwoodColumns *list = nullptr;
    detail::check(sapwood_table_columns(owned_.get(), &list));
    detail::Owned<SapwoodColumns, sapwood_columns_free> owned(list);
    std::vector<Column> columns;
    const auto text = [](const char *words) { return words == nullptr ? std::string() : std::string(words); };
    for (std::size_t index = 0; index < sapwood_columns_count(list); ++index) {
      const SapwoodColumn *column = sapwood_columns_get(list, index);
      columns.push_back({text(column->name), text(column->type_name), text(column->cpp_type), text(column->title),
                         text(column->problem)});
    }
    return columns;
  }
  Stream read(const Read &read = {}) const {
    std::vector<const char *> names;
    for (const auto &name : read.columns) names.push_back(name.c_str());
    SapwoodReadOptions options = sapwood_read_options();
    options.columns = names.data();
    options.column_count = names.size();
    options.cut = read.cut.empty() ? nullptr : read.cut.c_str();
    options.start = read.start;
    options.stop = read.stop;
    options.batch_bytes = read.batch_bytes;
    ArrowArrayStream stream{};
    detail::check(sapwood_table_read(owned_.get(), &options, &stream));
    return Stream(stream);
  }
  // As TTree::Draw: draw("Jet_pt>>h(50, 0, 100)", "nJet > 2").
  Histogram draw(const std::string &expression, const std::string &cut = "", std::uint64_t start = 0,
                 std::uint64_t stop = UINT64_MAX) const {
    SapwoodHistogram *drawn = nullptr;
    detail::check(sapwood_table_draw(owned_.get(), expression.c_str(), cut.c_str(), start, stop, &drawn));
    return Histogram(drawn);
  }
  const SapwoodTable *get() const noexcept { return owned_.get(); }

private:
  detail::Owned<SapwoodTable, sapwood_table_free> owned_;
};

// An object in a file.
struct Key {
  std::string path, class_name, title;
  std::uint16_t cycle;
  // Whether File::table opens it.
  bool is_table;
};

// A file that is read: a path or a URL.
class File {
public:
  explicit File(const std::string &path) : File(path, nullptr) {}
  File(const std::string &path, const Session &session) : File(path, session.get()) {}
  std::vector<Key> keys(bool recursive = true) const {
    SapwoodKeys *list = nullptr;
    detail::check(sapwood_file_keys(owned_.get(), recursive, &list));
    detail::Owned<SapwoodKeys, sapwood_keys_free> owned(list);
    std::vector<Key> keys;
    for (std::size_t index = 0; index < sapwood_keys_count(list); ++index) {
      const SapwoodKey *key = sapwood_keys_get(list, index);
      keys.push_back({key->path, key->class_name, key->title, key->cycle, key->is_table});
    }
    return keys;
  }
  Table table(const std::string &path) const {
    SapwoodTable *table = nullptr;
    detail::check(sapwood_file_table(owned_.get(), path.c_str(), &table));
    return Table(table);
  }
  const SapwoodFile *get() const noexcept { return owned_.get(); }

private:
  File(const std::string &path, const SapwoodSession *session) {
    SapwoodFile *file = nullptr;
    detail::check(sapwood_open(path.c_str(), session, &file));
    owned_.reset(file);
  }
  detail::Owned<SapwoodFile, sapwood_file_free> owned_;
};

// A branch that is written.
struct Branch {
  std::string name;
  SapwoodType type;
  bool is_list = false;
  std::string counter = {};
  // One number for each entry.
  template <class T> static Branch number(std::string name) { return {std::move(name), detail::type_of<T>()}; }
  // A list for each entry: a std::vector, or an array that another branch counts.
  template <class T> static Branch list(std::string name, std::string counter = {}) {
    return {std::move(name), detail::type_of<T>(), true, std::move(counter)};
  }
  static Branch text(std::string name) { return {std::move(name), SAPWOOD_TYPE_TEXT}; }
};

// Values of consecutive entries of a branch: any container with data() and size(), which must outlive the call of fill.
class Values {
public:
  template <class C, class T = std::remove_pointer_t<decltype(std::declval<const C &>().data())>>
  Values(std::string name, const C &numbers)
      : name_(std::move(name)), type_(detail::type_of<T>()), data_(numbers.data()), count_(numbers.size()) {}
  // Lists: where each begins, and where the last one ends; and the numbers of all of them.
  template <class C, class T = std::remove_pointer_t<decltype(std::declval<const C &>().data())>>
  Values(std::string name, span<const std::int64_t> offsets, const C &numbers) : Values(std::move(name), numbers) {
    offsets_ = offsets;
  }
  // Texts, copied.
  static Values texts(std::string name, span<const std::string> texts) {
    auto copy = std::make_shared<std::pair<std::vector<std::int64_t>, std::string>>();
    copy->first.push_back(0);
    for (const auto &text : texts) {
      copy->second += text;
      copy->first.push_back(static_cast<std::int64_t>(copy->second.size()));
    }
    Values values(std::move(name), copy->second);
    values.type_ = SAPWOOD_TYPE_TEXT;
    values.offsets_ = span<const std::int64_t>(copy->first.data(), copy->first.size());
    values.copy_ = std::move(copy);
    return values;
  }
  SapwoodValues get() const {
    return {name_.c_str(), static_cast<std::uint32_t>(type_), data_, count_, offsets_.data(), offsets_.size()};
  }

private:
  std::string name_;
  SapwoodType type_;
  const void *data_;
  std::size_t count_;
  span<const std::int64_t> offsets_ = {};
  std::shared_ptr<const void> copy_ = {};
};

// Takes rows of a tree, for one thread.
class Context {
public:
  explicit Context(SapwoodContext *owned) : owned_(owned) {}
  void fill(std::initializer_list<Values> values) { fill(values.begin(), values.size()); }
  void fill(const std::vector<Values> &values) { fill(values.data(), values.size()); }
  // A batch of Arrow, which is taken.
  void fill(Batch batch) {
    ArrowArray array = batch.release();
    detail::check(sapwood_context_extend(owned_.get(), &array, &batch.schema()));
  }
  // Writes the rows that wait as a cluster of their own.
  void flush() { detail::check(sapwood_context_flush(owned_.get())); }
  // Writes the rows that wait, and ends. Without it they are written, too, but closing the file tells what went wrong;
  // a numbered unit that is not closed is given up.
  void close() { detail::check(sapwood_context_close(owned_.release())); }
  // Drops the rows that wait, and ends.
  void discard() { detail::check(sapwood_context_discard(owned_.release())); }

private:
  void fill(const Values *values, std::size_t count) {
    std::vector<SapwoodValues> given;
    for (std::size_t index = 0; index < count; ++index) given.push_back(values[index].get());
    detail::check(sapwood_context_fill(owned_.get(), given.data(), given.size()));
  }
  detail::Owned<SapwoodContext, sapwood_context_free> owned_;
};

// Brings numbered units of work, for one thread.
class Units {
public:
  explicit Units(SapwoodUnits *owned) : owned_(owned) {}
  Context begin(std::uint64_t number) {
    SapwoodContext *context = nullptr;
    detail::check(sapwood_units_begin(owned_.get(), number, &context));
    return Context(context);
  }

private:
  detail::Owned<SapwoodUnits, sapwood_units_free> owned_;
};

// A tree that threads fill, each through a context of its own.
class Tree {
public:
  explicit Tree(SapwoodTree *owned) : owned_(owned) {}
  // Rows of it are in the tree in the order of commits.
  Context context() const {
    SapwoodContext *context = nullptr;
    detail::check(sapwood_tree_context(owned_.get(), &context));
    return Context(context);
  }
  // Units of it are in the tree in the order of their numbers. Make those of all threads before any begins.
  Units units() const {
    SapwoodUnits *units = nullptr;
    detail::check(sapwood_tree_units(owned_.get(), &units));
    return Units(units);
  }
  // Makes what is committed visible to readers; gives the entries of the tree.
  std::uint64_t save() const {
    std::uint64_t entries = 0;
    detail::check(sapwood_tree_save(owned_.get(), &entries));
    return entries;
  }
  // Ends the tree, after its contexts.
  void close() { detail::check(sapwood_tree_close(owned_.release())); }

private:
  detail::Owned<SapwoodTree, sapwood_tree_free> owned_;
};

// A file that is written.
class Writer {
public:
  explicit Writer(const std::string &path, SapwoodMode mode = SAPWOOD_MODE_RECREATE,
                  const std::string &compression = "")
      : Writer(path, mode, compression, nullptr) {}
  Writer(const std::string &path, SapwoodMode mode, const std::string &compression, const Session &session)
      : Writer(path, mode, compression, session.get()) {}
  // Writes all batches of a stream as a tree; gives its entries.
  std::uint64_t write(const std::string &path, Stream stream) {
    ArrowArrayStream taken = stream.release();
    std::uint64_t entries = 0;
    detail::check(sapwood_writer_write_stream(owned_.get(), path.c_str(), &taken, &entries));
    return entries;
  }
  void write(const std::string &path, const Histogram &histogram) {
    detail::check(sapwood_writer_histogram(owned_.get(), path.c_str(), histogram.get()));
  }
  // Begins a tree of described branches.
  Tree tree(const std::string &path, const std::vector<Branch> &branches) {
    std::vector<SapwoodBranch> described;
    for (const auto &branch : branches) {
      const char *counter = branch.counter.empty() ? nullptr : branch.counter.c_str();
      described.push_back({branch.name.c_str(), static_cast<std::uint32_t>(branch.type), branch.is_list, counter});
    }
    SapwoodTree *tree = nullptr;
    detail::check(sapwood_writer_tree(owned_.get(), path.c_str(), described.data(), described.size(), &tree));
    return Tree(tree);
  }
  // Begins a tree with a branch for each column of a schema.
  Tree tree(const std::string &path, const ArrowSchema &schema) {
    SapwoodTree *tree = nullptr;
    detail::check(sapwood_writer_tree_of_schema(owned_.get(), path.c_str(), &schema, &tree));
    return Tree(tree);
  }
  // Makes what was written visible to readers.
  void save() { detail::check(sapwood_writer_save(owned_.get())); }
  // Saves and closes the file, after its trees. A destructor does so, too, but cannot tell what went wrong.
  void close() { detail::check(sapwood_writer_close(owned_.release())); }

private:
  Writer(const std::string &path, SapwoodMode mode, const std::string &compression, const SapwoodSession *session) {
    SapwoodWriter *writer = nullptr;
    const char *chosen = compression.empty() ? nullptr : compression.c_str();
    detail::check(sapwood_writer_open(path.c_str(), static_cast<std::uint32_t>(mode), chosen, session, &writer));
    owned_.reset(writer);
  }
  detail::Owned<SapwoodWriter, sapwood_writer_free> owned_;
};

} // namespace sapwood

#endif
