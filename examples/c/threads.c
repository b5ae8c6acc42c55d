/* Four threads fill one tree, each through a context of its own.
 *
 *   cc threads.c $(pkg-config --cflags --libs sapwood) -lpthread -o threads && ./threads out.root 1000 */
#include <sapwood.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROWS = 50 };

struct work {
  SapwoodTree *tree;
  int first, events;
  SapwoodError *error;
};

/* Fills the events first, first + 4, first + 8 and so on; event e has e % 4 tracks. */
static SapwoodError *fill(SapwoodContext *context, const struct work *work) {
  int32_t number[ROWS];
  int64_t offsets[ROWS + 1] = {0};
  float pt[ROWS * 3];
  int rows = 0, tracks = 0;
  for (int event = work->first; event < work->events; event += THREADS) {
    number[rows] = event;
    for (int track = 0; track < event % 4; ++track) pt[tracks++] = (float)event + 0.25f * (float)track;
    offsets[++rows] = tracks;
    if (rows == ROWS || event + THREADS >= work->events) {
      const SapwoodValues values[] = {
          {"event", SAPWOOD_TYPE_INT32, number, (size_t)rows, NULL, 0},
          {"pt", SAPWOOD_TYPE_FLOAT32, pt, (size_t)tracks, offsets, (size_t)rows + 1},
      };
      SapwoodError *error = sapwood_context_fill(context, values, 2);
      if (error != NULL) return error;
      rows = tracks = 0;
    }
  }
  return NULL;
}

static void *run(void *argument) {
  struct work *work = argument;
  SapwoodContext *context = NULL;
  work->error = sapwood_tree_context(work->tree, &context);
  if (work->error != NULL) return NULL;
  work->error = fill(context, work);
  SapwoodError *closed = sapwood_context_close(context);
  if (work->error == NULL) work->error = closed;
  else sapwood_error_free(closed);
  return NULL;
}

static int failed(SapwoodError *error) {
  if (error == NULL) return 0;
  fprintf(stderr, "%s\n", sapwood_error_message(error));
  sapwood_error_free(error);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: threads FILE EVENTS\n");
    return 2;
  }
  SapwoodWriter *writer = NULL;
  if (failed(sapwood_writer_open(argv[1], SAPWOOD_MODE_RECREATE, "zstd:5", NULL, &writer))) return 1;
  const SapwoodBranch branches[] = {
      {"event", SAPWOOD_TYPE_INT32, false, NULL},
      {"pt", SAPWOOD_TYPE_FLOAT32, true, "ntrack"},
  };
  SapwoodTree *tree = NULL;
  if (failed(sapwood_writer_tree(writer, "events", branches, 2, &tree))) return 1;
  pthread_t threads[THREADS];
  struct work work[THREADS];
  for (int i = 0; i < THREADS; ++i) {
    work[i] = (struct work){tree, i, atoi(argv[2]), NULL};
    if (pthread_create(&threads[i], NULL, run, &work[i]) != 0) return 1;
  }
  int failures = 0;
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    failures += failed(work[i].error);
  }
  failures += failed(sapwood_tree_close(tree));
  failures += failed(sapwood_writer_close(writer));
  return failures == 0 ? 0 : 1;
}
