#include <stdio.h>

#include "net.h"

void model(const float image[1][3][16][16], float classes[1][4]);

int main(void) {
  float *image = NET_AT_image;
  for (int i = 0; i < 3 * 16 * 16; i++) image[i] = (float)(i % 7) - 3.0f;
  model(NET_AT_image, NET_AT_classes);
  const float *classes = NET_AT_classes;
  for (int i = 0; i < 4; i++) printf("%a\n", classes[i]);
  return 0;
}
