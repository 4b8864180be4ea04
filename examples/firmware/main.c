/* Finds the peaks of a signal: once in buffers of its own, once in those that memstow has planned. */

#include "net.h"
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 256 };

static_assert(SAMPLES * sizeof(int32_t) <= NET_SIZE_signal, "the signal fits");
static_assert(SAMPLES * sizeof(int32_t) <= NET_SIZE_smooth, "the smooth signal fits");
static_assert(SAMPLES * sizeof(int32_t) <= NET_SIZE_slope, "its slope fits");
static_assert(SAMPLES * sizeof(int32_t) <= NET_SIZE_rising, "where it rises fits");
static_assert(SAMPLES * sizeof(uint8_t) <= NET_SIZE_peaks, "the peaks fit");

/* `rising` may be `slope`: it is written where it was read. */
static void find_peaks(int32_t *signal, int32_t *smooth, int32_t *slope, int32_t *rising, uint8_t *peaks)
{
    uint32_t state = 1;
    int i;
    for (i = 0; i < SAMPLES; ++i) {
        state = state * 1664525u + 1013904223u;
        signal[i] = (int32_t)(state >> 24);
    }
    for (i = 0; i < SAMPLES; ++i)
        smooth[i] = (signal[i > 0 ? i - 1 : 0] + 2 * signal[i] + signal[i < SAMPLES - 1 ? i + 1 : i]) / 4;
    for (i = 0; i < SAMPLES; ++i)
        slope[i] = i > 0 ? smooth[i] - smooth[i - 1] : 0;
    for (i = 0; i < SAMPLES; ++i)
        rising[i] = slope[i] > 0;
    for (i = 0; i < SAMPLES; ++i)
        peaks[i] = (uint8_t)(rising[i] && i < SAMPLES - 1 && !rising[i + 1]);
}

int main(void)
{
    static int32_t signal[SAMPLES], smooth[SAMPLES], slope[SAMPLES], rising[SAMPLES];
    static uint8_t peaks[SAMPLES];
    int i, count = 0;

    find_peaks(signal, smooth, slope, rising, peaks);
    find_peaks(NET_AT_signal, NET_AT_smooth, NET_AT_slope, NET_AT_rising, NET_AT_peaks);
    for (i = 0; i < SAMPLES; ++i)
        count += peaks[i];
    if (memcmp(peaks, NET_AT_peaks, sizeof peaks) != 0) {
        printf("the planned memory gives other peaks\n");
        return 1;
    }
    printf("%d peaks in %u + %u bytes instead of %u\n", count, NET_POOL_SIZE_tcm, NET_POOL_SIZE_ram,
           (unsigned)(sizeof signal + sizeof smooth + sizeof slope + sizeof rising + sizeof peaks));
    return 0;
}
