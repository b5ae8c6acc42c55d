/* Sapwood for C: CERN ROOT files over Arrow's C interface. Made by cbindgen of the crate sapwood-c: do not edit.
 *
 * Calls that can fail return an error, or NULL: free it with sapwood_error_free. A NULL argument, or a text that is
 * not in UTF-8, is an error, too. Objects may be used by several threads at once, but not while one of them frees the
 * object.
 * Licence: MIT or Apache 2.0, as you prefer. */

#ifndef SAPWOOD_H
#define SAPWOOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define SAPWOOD_MUST_USE __attribute__((warn_unused_result))
#else
#define SAPWOOD_MUST_USE
#endif

/* Arrow's C data and stream interfaces, as https://arrow.apache.org has them. */
#ifdef __cplusplus
extern "C" {
#endif

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

#endif

#ifdef __cplusplus
}
#endif

/**
 * What kind of error it is.
 */
typedef enum SapwoodErrorKind {
  /**
   * No error.
   */
  SAPWOOD_ERROR_KIND_NONE = 0,
  /**
   * No such file, key, branch or column.
   */
  SAPWOOD_ERROR_KIND_NOT_FOUND = 1,
  /**
   * Something of that name exists.
   */
  SAPWOOD_ERROR_KIND_EXISTS = 2,
  /**
   * Bytes that contradict the format.
   */
  SAPWOOD_ERROR_KIND_MALFORMED = 3,
  /**
   * A checksum differs.
   */
  SAPWOOD_ERROR_KIND_CHECKSUM = 4,
  /**
   * Nothing here can read or write it.
   */
  SAPWOOD_ERROR_KIND_UNSUPPORTED = 5,
  /**
   * A limit would be passed.
   */
  SAPWOOD_ERROR_KIND_LIMIT = 6,
  /**
   * What was asked for does not fit what is there; also arguments that are NULL or not in UTF-8.
   */
  SAPWOOD_ERROR_KIND_MISMATCH = 7,
  /**
   * An expression that cannot be understood.
   */
  SAPWOOD_ERROR_KIND_EXPRESSION = 8,
  /**
   * The file changed while it was read.
   */
  SAPWOOD_ERROR_KIND_CHANGED = 9,
  /**
   * No answer in time.
   */
  SAPWOOD_ERROR_KIND_TIMED_OUT = 10,
  /**
   * Not allowed.
   */
  SAPWOOD_ERROR_KIND_DENIED = 11,
  /**
   * The operating system or a server reported an error.
   */
  SAPWOOD_ERROR_KIND_IO = 12,
  /**
   * The caller cancelled.
   */
  SAPWOOD_ERROR_KIND_CANCELLED = 13,
  /**
   * A fault of the library itself, to be reported.
   */
  SAPWOOD_ERROR_KIND_INTERNAL = 14,
} SapwoodErrorKind;

/**
 * How a file is opened for writing.
 */
typedef enum SapwoodMode {
  /**
   * A file of that name is replaced.
   */
  SAPWOOD_MODE_RECREATE = 0,
  /**
   * No file of that name may exist.
   */
  SAPWOOD_MODE_CREATE = 1,
  /**
   * The file exists; objects are added to it.
   */
  SAPWOOD_MODE_UPDATE = 2,
} SapwoodMode;

/**
 * The type of single values.
 */
typedef enum SapwoodType {
  /**
   * `bool`, a byte each.
   */
  SAPWOOD_TYPE_BOOL = 1,
  /**
   * `int8_t`.
   */
  SAPWOOD_TYPE_INT8 = 2,
  /**
   * `uint8_t`.
   */
  SAPWOOD_TYPE_UINT8 = 3,
  /**
   * `int16_t`.
   */
  SAPWOOD_TYPE_INT16 = 4,
  /**
   * `uint16_t`.
   */
  SAPWOOD_TYPE_UINT16 = 5,
  /**
   * `int32_t`.
   */
  SAPWOOD_TYPE_INT32 = 6,
  /**
   * `uint32_t`.
   */
  SAPWOOD_TYPE_UINT32 = 7,
  /**
   * `int64_t`.
   */
  SAPWOOD_TYPE_INT64 = 8,
  /**
   * `uint64_t`.
   */
  SAPWOOD_TYPE_UINT64 = 9,
  /**
   * `float`.
   */
  SAPWOOD_TYPE_FLOAT32 = 10,
  /**
   * `double`.
   */
  SAPWOOD_TYPE_FLOAT64 = 11,
  /**
   * Strings: bytes in UTF-8, and offsets.
   */
  SAPWOOD_TYPE_TEXT = 12,
} SapwoodType;

/**
 * The columns of a table. Free it with `sapwood_columns_free`.
 */
typedef struct SapwoodColumns SapwoodColumns;

/**
 * Takes rows of a tree, for one thread.
 */
typedef struct SapwoodContext SapwoodContext;

/**
 * An error: its kind, and what happened, where, in words. Free it with `sapwood_error_free`.
 */
typedef struct SapwoodError SapwoodError;

/**
 * A file that is open for reading. Threads may share it.
 */
typedef struct SapwoodFile SapwoodFile;

/**
 * A histogram: bins, their values and errors. Threads may share it.
 */
typedef struct SapwoodHistogram SapwoodHistogram;

/**
 * The objects of a file. Free it with `sapwood_keys_free`.
 */
typedef struct SapwoodKeys SapwoodKeys;

/**
 * Threads and recycled memory, which the files that are opened with it share.
 */
typedef struct SapwoodSession SapwoodSession;

/**
 * A tree or an RNTuple. Threads may share it.
 */
typedef struct SapwoodTable SapwoodTable;

/**
 * A tree that threads fill, each through a context of its own. Threads may share it.
 */
typedef struct SapwoodTree SapwoodTree;

/**
 * Brings numbered units of work, for one thread.
 */
typedef struct SapwoodUnits SapwoodUnits;

/**
 * A file that is open for writing. Threads may share it: its calls take turns.
 */
typedef struct SapwoodWriter SapwoodWriter;

/**
 * What `sapwood_table_read` reads. Begin with `sapwood_read_options()`.
 */
typedef struct SapwoodReadOptions {
  /**
   * Names of columns, or patterns like "Jet_*"; NULL for all columns that Arrow has a type for.
   */
  const char *const *columns;
  /**
   * How many there are.
   */
  size_t column_count;
  /**
   * Only entries that pass this expression, like "nJet > 2"; NULL for all.
   */
  const char *cut;
  /**
   * The first entry.
   */
  uint64_t start;
  /**
   * One past the last entry; what is behind the end of the table is left out.
   */
  uint64_t stop;
  /**
   * Bytes that the columns of a batch take, about; 0 for 64 MB.
   */
  uint64_t batch_bytes;
} SapwoodReadOptions;

/**
 * An object in a file. Its texts live as long as the list.
 */
typedef struct SapwoodKey {
  /**
   * Directories and name, joined by "/".
   */
  const char *path;
  /**
   * The C++ class, like "TTree".
   */
  const char *class_name;
  /**
   * Its title.
   */
  const char *title;
  /**
   * Its cycle.
   */
  uint16_t cycle;
  /**
   * Whether `sapwood_file_table` opens it: a tree or an RNTuple.
   */
  bool is_table;
} SapwoodKey;

/**
 * A column of a table: a branch or a field. Its texts live as long as the list.
 */
typedef struct SapwoodColumn {
  /**
   * Names from the top-level branch on, joined by "/", or of fields by ".".
   */
  const char *name;
  /**
   * The type of its values, like "float32" or "var * float32"; NULL where it cannot be read.
   */
  const char *type_name;
  /**
   * The type in words of C++, like `std::vector<float>`; NULL where it cannot be read.
   */
  const char *cpp_type;
  /**
   * Its title or description.
   */
  const char *title;
  /**
   * Why it cannot be read as Arrow; NULL where it can be.
   */
  const char *problem;
} SapwoodColumn;

/**
 * A branch that is written: one value an entry, or a list of them.
 */
typedef struct SapwoodBranch {
  /**
   * Its name.
   */
  const char *name;
  /**
   * Type of its values: a `SapwoodType`.
   */
  uint32_t type;
  /**
   * Whether an entry has a list of values: a `std::vector`, unless a counter is named.
   */
  bool is_list;
  /**
   * The branch that counts the items of a list, as in `Jet_pt[nJet]/F`; it is made and filled by itself. NULL for
   * none.
   */
  const char *counter;
} SapwoodBranch;

/**
 * Values of consecutive entries of a branch, in the caller's memory.
 */
typedef struct SapwoodValues {
  /**
   * The branch.
   */
  const char *name;
  /**
   * Type of the values, which must be that of the branch: a `SapwoodType`.
   */
  uint32_t type;
  /**
   * The values, those of all lists one after another; or the bytes of all texts.
   */
  const void *data;
  /**
   * How many values; of texts how many bytes.
   */
  size_t count;
  /**
   * Of lists and texts: where each begins, and where the last one ends; the first is 0. NULL otherwise.
   */
  const int64_t *offsets;
  /**
   * How many offsets: one more than entries.
   */
  size_t offset_count;
} SapwoodValues;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The kind of an error; `SAPWOOD_ERROR_KIND_NONE` for NULL.
 */
enum SapwoodErrorKind sapwood_error_kind(const struct SapwoodError *error);

/**
 * What happened, where, and what was expected, in one line; lives as long as the error. "" for NULL.
 */
const char *sapwood_error_message(const struct SapwoodError *error);

/**
 * The path or URL of the file that it is about, or NULL.
 */
const char *sapwood_error_file(const struct SapwoodError *error);

/**
 * The path in the file of the object that it is about, or NULL.
 */
const char *sapwood_error_object(const struct SapwoodError *error);

/**
 * Frees an error. NULL has no effect.
 */
void sapwood_error_free(struct SapwoodError *error);

/**
 * The version of the library, like "0.1.0".
 */
const char *sapwood_version(void);

/**
 * Makes a session that decodes and compresses on so many threads; 0 stands for all cores that the process may use, 1
 * for the caller's own thread.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_session_new(uint32_t threads,
                                         struct SapwoodSession **out);

/**
 * Its threads; 0 for NULL.
 */
uint32_t sapwood_session_threads(const struct SapwoodSession *session);

/**
 * Frees a session; files that were opened with it keep what they need. NULL has no effect.
 */
void sapwood_session_free(struct SapwoodSession *session);

/**
 * Options that read everything.
 */
struct SapwoodReadOptions sapwood_read_options(void);

/**
 * Opens a path, or a URL of http(s)://, root(s)://, dcap://, s3://, gs:// or az://. Without a session (NULL) the file
 * has one of its own, on all cores. Settings of the network are those of the environment, as the `sapwood` command
 * takes them.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_open(const char *path,
                                  const struct SapwoodSession *session,
                                  struct SapwoodFile **out);

/**
 * Lists the objects of a file; with `recursive` those of its directories, too.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_file_keys(const struct SapwoodFile *file,
                                       bool recursive,
                                       struct SapwoodKeys **out);

/**
 * Opens a tree or an RNTuple of a file by its path, like "folder/events" or "events;2". It keeps the file open.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_file_table(const struct SapwoodFile *file,
                                        const char *path,
                                        struct SapwoodTable **out);

/**
 * Closes a file. NULL has no effect.
 */
void sapwood_file_free(struct SapwoodFile *file);

/**
 * The number of objects; 0 for NULL.
 */
size_t sapwood_keys_count(const struct SapwoodKeys *keys);

/**
 * An object of the list; NULL beyond its end. It lives as long as the list.
 */
const struct SapwoodKey *sapwood_keys_get(const struct SapwoodKeys *keys, size_t index);

/**
 * Frees the list. NULL has no effect.
 */
void sapwood_keys_free(struct SapwoodKeys *keys);

/**
 * The number of columns; 0 for NULL.
 */
size_t sapwood_columns_count(const struct SapwoodColumns *columns);

/**
 * A column of the list; NULL beyond its end. It lives as long as the list.
 */
const struct SapwoodColumn *sapwood_columns_get(const struct SapwoodColumns *columns, size_t index);

/**
 * Frees the list. NULL has no effect.
 */
void sapwood_columns_free(struct SapwoodColumns *columns);

/**
 * Its entries; 0 for NULL.
 */
uint64_t sapwood_table_entries(const struct SapwoodTable *table);

/**
 * Lists its columns with their types: branches that hold values, or top-level fields.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_table_columns(const struct SapwoodTable *table,
                                           struct SapwoodColumns **out);

/**
 * Reads columns as a stream of Arrow, a batch at a time, without a copy; NULL options read everything. The stream
 * keeps the file open until it is released, and is of one thread at a time. What goes wrong in it,
 * `sapwood_stream_error` tells.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_table_read(const struct SapwoodTable *table,
                                        const struct SapwoodReadOptions *options,
                                        struct ArrowArrayStream *out);

/**
 * The schema that a stream of `sapwood_table_read` with these options has; nothing is read.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_table_schema(const struct SapwoodTable *table,
                                          const struct SapwoodReadOptions *options,
                                          struct ArrowSchema *out);

/**
 * Draws a histogram of expressions, as `TTree::Draw`: "Jet_pt>>h(50, 0, 100)", "y:x>>h(10, 0, 1, 10, 0, 1)". A cut
 * that is a number is a weight; NULL keeps all entries from `start` to before `stop`.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_table_draw(const struct SapwoodTable *table,
                                        const char *expression,
                                        const char *cut,
                                        uint64_t start,
                                        uint64_t stop,
                                        struct SapwoodHistogram **out);

/**
 * Frees a table. NULL has no effect.
 */
void sapwood_table_free(struct SapwoodTable *table);

/**
 * The error with which a stream of `sapwood_table_read` ended; NULL where it had none, and for streams of other
 * libraries. It lives until the stream is used again: do not free it.
 */
const struct SapwoodError *sapwood_stream_error(const struct ArrowArrayStream *stream);

/**
 * Its name; lives as long as it does. "" for NULL.
 */
const char *sapwood_histogram_name(const struct SapwoodHistogram *histogram);

/**
 * How many axes it has; 0 for NULL.
 */
size_t sapwood_histogram_axes(const struct SapwoodHistogram *histogram);

/**
 * The edges of the bins of an axis, one more than bins. An axis that the histogram does not have is an error. They
 * live as long as the histogram.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_histogram_edges(const struct SapwoodHistogram *histogram,
                                             size_t axis,
                                             const double **edges,
                                             size_t *count);

/**
 * The values of all bins in ROOT's order, x first, those below and above an axis included: bins + 2 for each axis.
 * They live as long as the histogram.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_histogram_values(const struct SapwoodHistogram *histogram,
                                              const double **values,
                                              size_t *count);

/**
 * The errors of all bins, in the order of the values.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_histogram_errors(const struct SapwoodHistogram *histogram,
                                              const double **errors,
                                              size_t *count);

/**
 * Frees a histogram. NULL has no effect.
 */
void sapwood_histogram_free(struct SapwoodHistogram *histogram);

/**
 * Opens a local file for writing; `mode` is a `SapwoodMode`. The compression is one like "zstd:5", "lz4", "none", or
 * NULL for ROOT's default. Without a session (NULL) it has one of its own, on all cores.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_writer_open(const char *path,
                                         uint32_t mode,
                                         const char *compression,
                                         const struct SapwoodSession *session,
                                         struct SapwoodWriter **out);

/**
 * Writes all batches of a stream as a tree, and gives their number of entries, unless `entries` is NULL. The stream is
 * taken, whatever happens: release it no more.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_writer_write_stream(const struct SapwoodWriter *writer,
                                                 const char *path,
                                                 struct ArrowArrayStream *stream,
                                                 uint64_t *entries);

/**
 * Begins a tree that threads fill, with branches as they are described.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_writer_tree(const struct SapwoodWriter *writer,
                                         const char *path,
                                         const struct SapwoodBranch *described,
                                         size_t count,
                                         struct SapwoodTree **out);

/**
 * Begins a tree that threads fill, with a branch for each column of an Arrow schema, which is not taken.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_writer_tree_of_schema(const struct SapwoodWriter *writer,
                                                   const char *path,
                                                   const struct ArrowSchema *schema,
                                                   struct SapwoodTree **out);

/**
 * Writes a histogram, under a path of its own.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_writer_histogram(const struct SapwoodWriter *writer,
                                              const char *path,
                                              const struct SapwoodHistogram *histogram);

/**
 * Makes everything that was written visible to every reader.
 */
SAPWOOD_MUST_USE struct SapwoodError *sapwood_writer_save(const struct SapwoodWriter *writer);

/**
 * Saves and closes the file, and frees the writer, whatever happens. Close its trees first.
 */
SAPWOOD_MUST_USE struct SapwoodError *sapwood_writer_close(struct SapwoodWriter *writer);

/**
 * Saves and closes the file, without a word of what goes wrong: for programs on their way out. NULL has no effect.
 */
void sapwood_writer_free(struct SapwoodWriter *writer);

/**
 * Makes a context for a thread: its rows are part of the tree, cluster by cluster, in the order of commits.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_tree_context(const struct SapwoodTree *tree,
                                          struct SapwoodContext **out);

/**
 * Makes a source of numbered units for a thread: the units are in the tree in the order of their numbers, from 0 on,
 * so that the file does not depend on the threads. Make those of all threads before any of them begins.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_tree_units(const struct SapwoodTree *tree,
                                        struct SapwoodUnits **out);

/**
 * Begins a unit of work, which is complete when its context is closed. Close the last one first.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_units_begin(const struct SapwoodUnits *units,
                                         uint64_t number,
                                         struct SapwoodContext **out);

/**
 * Frees a source of units: it brings no more. NULL has no effect.
 */
void sapwood_units_free(struct SapwoodUnits *units);

/**
 * Adds rows: values for every branch but the counters. Memory is read before the call returns. Where types, names or
 * lengths are wrong, no row is added.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_context_fill(const struct SapwoodContext *context,
                                          const struct SapwoodValues *given,
                                          size_t count);

/**
 * Adds the rows of an Arrow batch, a struct with a column for every branch but the counters. The batch is taken,
 * whatever happens: release it no more. The schema is not.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_context_extend(const struct SapwoodContext *context,
                                            struct ArrowArray *batch,
                                            const struct ArrowSchema *schema);

/**
 * Writes the rows that wait as a cluster of their own.
 */
SAPWOOD_MUST_USE struct SapwoodError *sapwood_context_flush(const struct SapwoodContext *context);

/**
 * Writes the rows that wait, and frees the context, whatever happens.
 */
SAPWOOD_MUST_USE struct SapwoodError *sapwood_context_close(struct SapwoodContext *context);

/**
 * Drops the rows that wait, and frees the context, whatever happens.
 */
SAPWOOD_MUST_USE struct SapwoodError *sapwood_context_discard(struct SapwoodContext *context);

/**
 * Closes a context without a word of what goes wrong: closing the file tells it. A numbered unit is given up. NULL has
 * no effect.
 */
void sapwood_context_free(struct SapwoodContext *context);

/**
 * Makes what is committed visible to every reader, and gives the entries that the tree has then, unless `entries` is
 * NULL.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_tree_save(const struct SapwoodTree *tree,
                                       uint64_t *entries);

/**
 * Ends the tree, and frees it, whatever happens. Close its contexts first: rows that wait in them are lost.
 */
SAPWOOD_MUST_USE
struct SapwoodError *sapwood_tree_close(struct SapwoodTree *tree);

/**
 * Ends the tree without a word of what goes wrong: closing the file tells it. NULL has no effect.
 */
void sapwood_tree_free(struct SapwoodTree *tree);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SAPWOOD_H */
