/* Runs the model once and says what comes out, on the console of a debugger. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "net.h"

int main(void)
{
    /* Here comes the image of a camera; it is written to where the program reads it. */
    memset(net_input(0), 0, NET_INPUT_0_BYTES);
    const int code = net_run(NULL, NULL);
    if (code != 0) {
        return code;
    }
    const uint8_t *output = net_output(0);
    printf("net works in %u bytes; first byte of its output: %u\n", (unsigned)NET_ARENA_BYTES, (unsigned)output[0]);
    return 0;
}
