/* Lists a file, reads two columns with a cut as a stream of Arrow, and draws a histogram.
 *
 *   cc read.c $(pkg-config --cflags --libs sapwood) -o read && ./read examples/data/nano.root Events */
#include <sapwood.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program where a call returned an error. */
static void check(SapwoodError *error) {
  if (error == NULL) return;
  fprintf(stderr, "%s\n", sapwood_error_message(error));
  sapwood_error_free(error);
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: read FILE TREE\n");
    return 2;
  }
  SapwoodFile *file = NULL;
  check(sapwood_open(argv[1], NULL, &file));
  SapwoodKeys *keys = NULL;
  check(sapwood_file_keys(file, true, &keys));
  for (size_t i = 0; i < sapwood_keys_count(keys); ++i) {
    const SapwoodKey *key = sapwood_keys_get(keys, i);
    printf("%s;%d %s\n", key->path, key->cycle, key->class_name);
  }
  sapwood_keys_free(keys);

  SapwoodTable *table = NULL;
  check(sapwood_file_table(file, argv[2], &table));
  sapwood_file_free(file); /* the table keeps what it needs */
  SapwoodColumns *columns = NULL;
  check(sapwood_table_columns(table, &columns));
  for (size_t i = 0; i < sapwood_columns_count(columns); ++i) {
    const SapwoodColumn *column = sapwood_columns_get(columns, i);
    if (strcmp(column->name, "nJet") == 0 || strcmp(column->name, "Jet_pt") == 0) {
      printf("%s: %s\n", column->name, column->type_name);
    }
  }
  sapwood_columns_free(columns);

  const char *const names[] = {"nJet", "Jet_pt"};
  SapwoodReadOptions options = sapwood_read_options();
  options.columns = names;
  options.column_count = 2;
  options.cut = "nJet > 2";
  struct ArrowArrayStream stream;
  check(sapwood_table_read(table, &options, &stream));
  double sum = 0;
  long long entries = 0, jets = 0;
  for (;;) {
    struct ArrowArray batch;
    if (stream.get_next(&stream, &batch) != 0) {
      fprintf(stderr, "%s\n", stream.get_last_error(&stream));
      return 1;
    }
    if (batch.release == NULL) break; /* the end */
    const struct ArrowArray *lists = batch.children[1];
    const int64_t *offsets = lists->buffers[1];
    const float *pt = lists->children[0]->buffers[1];
    for (int64_t i = offsets[0]; i < offsets[batch.length]; ++i) sum += pt[i];
    entries += batch.length;
    jets += offsets[batch.length] - offsets[0];
    batch.release(&batch);
  }
  stream.release(&stream);
  printf("%lld entries with %lld jets, sum of pt %.3f\n", entries, jets, sum);

  SapwoodHistogram *histogram = NULL;
  check(sapwood_table_draw(table, "Jet_pt>>h(4, 0, 200)", NULL, 0, UINT64_MAX, &histogram));
  const double *values = NULL;
  size_t count = 0;
  check(sapwood_histogram_values(histogram, &values, &count));
  for (size_t bin = 1; bin + 1 < count; ++bin) printf("bin %zu: %g\n", bin, values[bin]);
  sapwood_histogram_free(histogram);
  sapwood_table_free(table);
  return 0;
}
