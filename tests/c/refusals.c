/* Calls that must be refused, each with its kind, and what is freed in odd orders. Run under valgrind, too. */
#include <sapwood.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

/* An error of that kind, with those words in it. */
static void refused(int line, SapwoodError *error, SapwoodErrorKind kind, const char *words) {
  if (sapwood_error_kind(error) != kind || strstr(sapwood_error_message(error), words) == NULL) {
    fprintf(stderr, "line %d: kind %d, %s\n", line, sapwood_error_kind(error), sapwood_error_message(error));
    ++failures;
  }
  sapwood_error_free(error);
}

#define REFUSED(call, kind, words) refused(__LINE__, (call), SAPWOOD_ERROR_KIND_##kind, (words))
#define GOOD(call) REFUSED(call, NONE, "")

static void release_nothing(struct ArrowArray *array) { array->release = NULL; }

/* What reading refuses. */
static void reading(const char *path) {
  SapwoodFile *file = NULL;
  REFUSED(sapwood_open(NULL, NULL, &file), MISMATCH, "`path` is NULL");
  REFUSED(sapwood_open("\xff\xfe.root", NULL, &file), MISMATCH, "`path` is not in UTF-8");
  REFUSED(sapwood_open(path, NULL, NULL), MISMATCH, "`out` is NULL");
  REFUSED(sapwood_open("no/such/file.root", NULL, &file), NOT_FOUND, "no/such/file.root");
  SapwoodError *error = sapwood_open("no/such/file.root", NULL, &file);
  if (sapwood_error_file(error) == NULL || sapwood_error_object(error) != NULL) ++failures;
  sapwood_error_free(error);

  SapwoodSession *session = NULL;
  GOOD(sapwood_session_new(2, &session));
  if (sapwood_session_threads(session) != 2) ++failures;
  GOOD(sapwood_open(path, session, &file));
  sapwood_session_free(session); /* the file keeps what it needs */

  SapwoodTable *table = NULL;
  REFUSED(sapwood_file_table(file, "Evnts", &table), NOT_FOUND, "Events");
  REFUSED(sapwood_file_table(NULL, "Events", &table), MISMATCH, "`file` is NULL");
  GOOD(sapwood_file_table(file, "Events", &table));
  sapwood_file_free(file);
  if (sapwood_table_entries(table) != 10 || sapwood_table_entries(NULL) != 0) ++failures;

  struct ArrowArrayStream stream;
  const char *names[] = {"nJet", "no_such_branch", NULL, "Nothing_*"};
  SapwoodReadOptions options = sapwood_read_options();
  options.columns = names;
  options.column_count = 2;
  REFUSED(sapwood_table_read(table, &options, &stream), NOT_FOUND, "no_such_branch");
  options.column_count = 3;
  names[1] = "Jet_*";
  REFUSED(sapwood_table_read(table, &options, &stream), MISMATCH, "`columns` is NULL");
  names[2] = names[3];
  REFUSED(sapwood_table_read(table, &options, &stream), NOT_FOUND, "Nothing_*");
  options.column_count = 2;
  options.cut = "nJet >";
  REFUSED(sapwood_table_read(table, &options, &stream), EXPRESSION, "nJet");
  options.cut = "nJet > 2";
  options.start = 5;
  options.stop = 4;
  REFUSED(sapwood_table_read(table, &options, &stream), MISMATCH, "ends before it starts");
  options.columns = NULL;
  options.stop = UINT64_MAX;
  REFUSED(sapwood_table_read(table, &options, &stream), MISMATCH, "`columns` is NULL");
  options.columns = names;
  REFUSED(sapwood_table_read(table, &options, NULL), MISMATCH, "`out` is NULL");

  /* A stream outlives its table, and may be released in the middle. */
  options.start = 0;
  options.batch_bytes = 1;
  GOOD(sapwood_table_read(table, &options, &stream));
  SapwoodHistogram *histogram = NULL;
  const double *edges = NULL;
  size_t count = 0;
  GOOD(sapwood_table_draw(table, "nJet>>h(2, 0, 10)", NULL, 0, 10, &histogram));
  GOOD(sapwood_histogram_edges(histogram, 0, &edges, &count));
  if (count != 3 || edges[1] != 5) ++failures;
  REFUSED(sapwood_histogram_edges(histogram, 7, &edges, &count), MISMATCH, "no axis 7");
  if (count != 0 || edges != NULL) ++failures;
  sapwood_histogram_free(histogram);
  sapwood_table_free(table);
  struct ArrowArray batch;
  struct ArrowSchema schema;
  if (stream.get_schema(&stream, &schema) != 0 || stream.get_next(&stream, &batch) != 0) ++failures;
  if (batch.length != 1 || strcmp(schema.children[0]->name, "nJet") != 0) ++failures;
  if (sapwood_stream_error(&stream) != NULL || sapwood_stream_error(NULL) != NULL) ++failures;
  stream.release(&stream);
  if (stream.release != NULL || sapwood_stream_error(&stream) != NULL) ++failures;
  batch.release(&batch);
  schema.release(&schema);
}

/* What writing refuses. */
static void writing(const char *path) {
  SapwoodWriter *writer = NULL;
  REFUSED(sapwood_writer_open(path, 7, NULL, NULL, &writer), MISMATCH, "7 is no SapwoodMode");
  REFUSED(sapwood_writer_open(path, SAPWOOD_MODE_RECREATE, "zip:9", NULL, &writer), MISMATCH, "zip");
  GOOD(sapwood_writer_open(path, SAPWOOD_MODE_RECREATE, "none", NULL, &writer));

  SapwoodTree *tree = NULL;
  const SapwoodBranch unknown[] = {{"x", 99, false, NULL}};
  REFUSED(sapwood_writer_tree(writer, "t", unknown, 1, &tree), MISMATCH, "99 is no SapwoodType");
  const SapwoodBranch texts[] = {{"x", SAPWOOD_TYPE_TEXT, true, NULL}};
  REFUSED(sapwood_writer_tree(writer, "t", texts, 1, &tree), UNSUPPORTED, "sapwood_context_extend");
  const SapwoodBranch counted[] = {{"x", SAPWOOD_TYPE_INT32, false, "n"}};
  REFUSED(sapwood_writer_tree(writer, "t", counted, 1, &tree), MISMATCH, "only lists have a counter");
  REFUSED(sapwood_writer_tree(writer, "t", NULL, 1, &tree), MISMATCH, "`described` is NULL");

  const SapwoodBranch branches[] = {{"x", SAPWOOD_TYPE_FLOAT64, false, NULL}, {"v", SAPWOOD_TYPE_INT32, true, NULL}};
  GOOD(sapwood_writer_tree(writer, "t", branches, 2, &tree));
  SapwoodContext *context = NULL;
  GOOD(sapwood_tree_context(tree, &context));
  const double x[] = {0.5, 1.5};
  const int32_t v[] = {1, 2, 3};
  const int64_t offsets[] = {0, 1, 3}, falling[] = {0, 3, 1}, late[] = {1, 2, 3}, beyond[] = {0, 1, 4};
  SapwoodValues values[] = {
      {"x", SAPWOOD_TYPE_FLOAT64, x, 2, NULL, 0},
      {"v", SAPWOOD_TYPE_INT32, v, 3, offsets, 3},
  };
  GOOD(sapwood_context_fill(context, values, 2));
  REFUSED(sapwood_context_fill(context, values, 1), MISMATCH, "v");
  REFUSED(sapwood_context_fill(context, NULL, 2), MISMATCH, "`given` is NULL");
  values[1].offsets = falling;
  REFUSED(sapwood_context_fill(context, values, 2), MISMATCH, "v");
  values[1].offsets = late;
  REFUSED(sapwood_context_fill(context, values, 2), MISMATCH, "the first offset is 1");
  values[1].offsets = beyond;
  REFUSED(sapwood_context_fill(context, values, 2), MISMATCH, "v");
  values[1].offsets = offsets;
  values[1].data = NULL;
  REFUSED(sapwood_context_fill(context, values, 2), MISMATCH, "`data` is NULL");
  values[1].data = v;
  values[0].count = SIZE_MAX;
  REFUSED(sapwood_context_fill(context, values, 2), MISMATCH, "memory can hold");
  values[0].count = 2;
  values[0].type = SAPWOOD_TYPE_FLOAT32;
  REFUSED(sapwood_context_fill(context, values, 2), MISMATCH, "x");
  values[0].type = SAPWOOD_TYPE_FLOAT64;
  values[0].name = NULL;
  REFUSED(sapwood_context_fill(context, values, 2), MISMATCH, "`name` is NULL");

  /* An array that breaks Arrow's contract: its column has no buffers. It is taken nevertheless. */
  struct ArrowSchema of_x = {0}, of_batch = {0}, *schemas[] = {&of_x};
  struct ArrowArray column = {0}, batch = {0}, *columns[] = {&column};
  of_x.format = "g";
  of_x.name = "x";
  of_x.release = (void (*)(struct ArrowSchema *))abort;
  of_batch.format = "+s";
  of_batch.name = "";
  of_batch.n_children = 1;
  of_batch.children = schemas;
  of_batch.release = (void (*)(struct ArrowSchema *))abort;
  column.length = batch.length = 2;
  column.release = release_nothing;
  batch.n_children = 1;
  batch.children = columns;
  batch.release = release_nothing;
  const void *no_buffers[] = {NULL};
  batch.n_buffers = 1;
  batch.buffers = no_buffers;
  REFUSED(sapwood_context_extend(context, &batch, &of_batch), MISMATCH, "breaks Arrow's contract");
  if (batch.release != NULL) ++failures;
  REFUSED(sapwood_context_extend(context, &batch, &of_batch), MISMATCH, "was released");

  /* Schemas that were released, in whole or in part. */
  struct ArrowSchema of_nothing = {0};
  SapwoodTree *none = NULL;
  REFUSED(sapwood_writer_tree_of_schema(writer, "r", &of_nothing, &none), MISMATCH, "released");
  REFUSED(sapwood_writer_tree_of_schema(writer, "r", NULL, &none), MISMATCH, "NULL");
  of_x.release = NULL;
  REFUSED(sapwood_writer_tree_of_schema(writer, "r", &of_batch, &none), MISMATCH, "released");
  of_x.release = (void (*)(struct ArrowSchema *))abort;
  if (none != NULL) ++failures;
  REFUSED(sapwood_context_extend(context, NULL, &of_batch), MISMATCH, "`batch` is NULL");
  REFUSED(sapwood_writer_write_stream(writer, "s", NULL, NULL), MISMATCH, "`stream` is NULL");

  /* What was refused is not in the tree. A tree that is closed before its context says so. */
  uint64_t entries = 0;
  GOOD(sapwood_context_flush(context));
  GOOD(sapwood_tree_save(tree, &entries));
  if (entries != 2) ++failures;
  REFUSED(sapwood_tree_close(tree), MISMATCH, "t");
  sapwood_context_free(context);
  sapwood_error_free(sapwood_writer_close(writer));
  REFUSED(sapwood_writer_open(path, SAPWOOD_MODE_CREATE, NULL, NULL, &writer), EXISTS, path);
}

/* NULL has no effect where nothing can be told. */
static void nothing(void) {
  sapwood_error_free(NULL);
  sapwood_session_free(NULL);
  sapwood_file_free(NULL);
  sapwood_keys_free(NULL);
  sapwood_columns_free(NULL);
  sapwood_table_free(NULL);
  sapwood_histogram_free(NULL);
  sapwood_writer_free(NULL);
  sapwood_tree_free(NULL);
  sapwood_units_free(NULL);
  sapwood_context_free(NULL);
  REFUSED(sapwood_writer_close(NULL), MISMATCH, "`writer` is NULL");
  REFUSED(sapwood_tree_close(NULL), MISMATCH, "`tree` is NULL");
  REFUSED(sapwood_context_close(NULL), MISMATCH, "`context` is NULL");
  if (sapwood_error_kind(NULL) != SAPWOOD_ERROR_KIND_NONE || strcmp(sapwood_error_message(NULL), "") != 0) ++failures;
  if (sapwood_keys_count(NULL) != 0 || sapwood_columns_get(NULL, 0) != NULL) ++failures;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  reading(argv[1]);
  writing(argv[2]);
  nothing();
  fprintf(stderr, "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
