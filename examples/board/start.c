/* What runs before main: data and zeros at their places, and the console of a debugger (semihosting). */

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern char data_start[], data_end[], data_load[], bss_start[], bss_end[], stack_top[];

int main(void);
void initialise_monitor_handles(void);
void reset(void);

void reset(void)
{
    memcpy(data_start, data_load, (size_t)(data_end - data_start));
    memset(bss_start, 0, (size_t)(bss_end - bss_start));
    initialise_monitor_handles();
    exit(main());
}

/* The C library calls them; there is nothing to do. */
void _init(void);
void _fini(void);
void _init(void) {}
void _fini(void) {}

__attribute__((section(".vectors"), used)) static void *const vectors[] = {stack_top, (void *)reset};
