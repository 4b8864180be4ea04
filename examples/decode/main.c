/* Lays out the memory of each step of a language model, as a runtime would.
 *
 *   decode              a prompt of 300 tokens, and then one token after the other
 *   decode b t c        the peak and the offset of every buffer at one value
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "decode.h"

enum { PROMPT = 300, PART = 128, TOKENS = 2000 };

static uint64_t offsets[DECODE_BUFFERS];
static uint64_t peaks[DECODE_POOLS];

/* Offsets for one step; without them there is nothing to do. */
static void lay_out(int64_t b, int64_t t, int64_t c) {
  const decode_symbols at = {.b = b, .t = t, .c = c};
  const int error = decode_offsets(&at, offsets, peaks);
  if (error != DECODE_OK) {
    fprintf(stderr, "b=%" PRId64 " t=%" PRId64 " c=%" PRId64 ": error %d\n", b, t, c, error);
    exit(1);
  }
}

/* A step in an arena that grows where it has to. */
static void step(unsigned char **arena, uint64_t *room, int64_t t, int64_t c, int is_shown) {
  lay_out(1, t, c);
  const uint64_t peak = peaks[DECODE_POOL_memory];
  const int grows = peak > *room;
  if (grows) {
    unsigned char *larger = realloc(*arena, (size_t)peak);
    if (larger == NULL) exit(1);
    *arena = larger;
    *room = peak;
  }
  /* Here the operators would run. Each finds a buffer at arena + offsets[DECODE_BUFFER_...]. */
  (*arena)[offsets[DECODE_BUFFER_logits]] = 1;
  if (is_shown) {
    printf("%6" PRId64 " %7" PRId64 " %12" PRIu64 " %12" PRIu64 "\n", t, c, peak, *room);
  }
}

int main(int argc, char **argv) {
  if (argc == 4) {
    lay_out(atoll(argv[1]), atoll(argv[2]), atoll(argv[3]));
    printf("%" PRIu64 "\n", peaks[DECODE_POOL_memory]);
    for (int i = 0; i < DECODE_BUFFERS; i++) printf("%" PRIu64 "\n", offsets[i]);
    return 0;
  }
  unsigned char *arena = NULL;
  uint64_t room = 0;
  int64_t cache = 0;
  printf("tokens   cache         peak        arena\n");
  while (cache < PROMPT) {
    const int64_t part = PROMPT - cache < PART ? PROMPT - cache : PART;
    step(&arena, &room, part, cache, 1);
    cache += part;
  }
  for (int i = 1; i <= TOKENS; i++, cache++) step(&arena, &room, 1, cache, i == 1 || i % 500 == 0);
  free(arena);
  return 0;
}
