/* Tilewright's driver on Linux: registers and DRAM that the kernel maps into this process. Ticks are microseconds. */
#ifndef TILEWRIGHT_LINUX_H
#define TILEWRIGHT_LINUX_H

#include "tilewright_driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a port finds the registers of its machine. */
typedef struct tw_linux_machine {
    volatile uint32_t *registers; /* NULL: there is no such machine */
    int device; /* file of the UIO device; -1: interrupts are not told, and the driver polls */
} tw_linux_machine;

typedef struct tw_linux {
    tw_linux_machine machine[TW_MACHINES];
    tw_memory memory; /* for tw_layout: without caches */
} tw_linux;

/* `machines`: of the chip, whose registers follow one another, TW_MACHINE_BYTES each; 1 where there is one. All see the same
 * memory and share the interrupt. TW_CORES: none, or more than TW_MACHINES.
 *
 * A UIO device (/dev/uio0) with the registers, and a buffer of the u-dma-buf driver (/dev/udmabuf0) as memory; `sysfs` NULL:
 * /sys/class/u-dma-buf, where the buffer's address and size are. TW_NO_MACHINE, TW_ADDRESS: `errno` says why. */
tw_result tw_linux_open_uio(tw_linux *board, const char *device, const char *buffer, const char *sysfs,
                            uint32_t machines);
/* Registers and memory that nobody else uses, at these addresses, by `path` (/dev/mem). Both are multiples of a page. */
tw_result tw_linux_open_mem(tw_linux *board, const char *path, uint64_t registers, uint64_t memory, uint32_t bytes,
                            uint32_t machines);
/* That machine's, for tw_attach; `board` must stay. Of a machine that is not open: a port without functions, which tw_attach
 * refuses. */
tw_port tw_linux_port(tw_linux *board, uint32_t machine);
void tw_linux_close(tw_linux *board);

#ifdef __cplusplus
}
#endif

#endif
