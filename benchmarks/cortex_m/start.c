/* Runs a model once on QEMU's mps2-an386 or mps3-an547; prints how many instructions and how much stack that took. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char data_start[], data_end[], data_load[], bss_start[], bss_end[], stack_top[];
extern void (*init_start[])(void);
extern void (*init_end[])(void);

void initialise_monitor_handles(void);
int setup(void);
int run(void);
void result(void);
void reset(void);

/* The timer of the processor, 24 bits wide. With -icount shift=0 an instruction takes a nanosecond. */
#define TIMER(offset) (*(volatile uint32_t *)(0xE000E010u + (offset)))
#ifdef __ARM_FEATURE_MVE
#define NANOSECONDS(ticks) ((ticks) * 125u / 4u) /* at 32 MHz */
#else
#define NANOSECONDS(ticks) ((ticks) * 40u) /* at 25 MHz */
#endif
#define STACK 32768

void reset(void) {
#ifdef __ARM_FEATURE_MVE
  *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* vectors are off at first */
  __asm__ volatile("dsb\n isb");
#endif
  memcpy(data_start, data_load, (size_t)(data_end - data_start));
  memset(bss_start, 0, (size_t)(bss_end - bss_start));
  initialise_monitor_handles();
  for (void (**each)(void) = init_start; each < init_end; ++each) {
    (*each)();
  }
  if (setup() != 0) {
    exit(1);
  }
  char here = 0;
  char *low = stack_top - STACK;
  memset(low, 0xA5, (size_t)(&here - 256 - low));
  TIMER(4) = 0xFFFFFFu;
  TIMER(8) = 0u;
  TIMER(0) = 5u;
  while (TIMER(8) == 0u) {
  }
  const uint32_t begin = TIMER(8);
  const int code = run();
  const uint32_t end = TIMER(8);
  while (low < &here && *low == (char)0xA5) {
    ++low;
  }
  printf("%d %lu %d ", code, (unsigned long)NANOSECONDS((begin - end) & 0xFFFFFFu), (int)(&here - low));
  result();
  exit(0);
}

void *__dso_handle = 0;
void _init(void);
void _fini(void);
void _init(void) {}
void _fini(void) {}

__attribute__((section(".vectors"), used)) static void *const vectors[] = {stack_top, (void *)reset};
