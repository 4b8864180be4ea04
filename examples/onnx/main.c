#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "net.h"

void model(const float image[1][3][16][16], float classes[1][4]);

/* The bits, which any C library can print. */
static void show(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  printf("%08lx\n", (unsigned long)bits);
}

int main(void) {
  float *image = NET_AT_image;
  for (int i = 0; i < 3 * 16 * 16; i++) image[i] = (float)(i % 7) - 3.0f;
  model(NET_AT_image, NET_AT_classes);
  const float *classes = NET_AT_classes;
  for (int i = 0; i < 4; i++) show(classes[i]);
  return 0;
}
