/* What memstow has built. */

#include <stdio.h>

#include "net.h"

int setup(void);
int run(void);
void result(void);

int setup(void) {
  uint8_t *input = net_input(0);
  for (uint32_t at = 0; at < NET_INPUT_0_BYTES; ++at) {
    input[at] = (uint8_t)(at * 37u + 11u);
  }
  net_reset();
  return 0;
}

int run(void) { return net_run(NULL, NULL); }

void result(void) {
  const uint8_t *output = net_output(0);
  uint32_t sum = 0;
  for (uint32_t at = 0; at < NET_OUTPUT_0_BYTES; ++at) {
    sum = sum * 31u + output[at];
  }
  printf("%lu\n", (unsigned long)sum);
}
