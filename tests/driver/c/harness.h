/* What the test programs share: a port to a board behind a cache, files, and checks. */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "tilewright_driver.h"

/* An area of DRAM that the processor sees through a cache: its copy is only told what the driver cleans or invalidates. */
typedef struct harness {
    uint8_t *cached;
    uint64_t bus;
    uint32_t bytes;
    uint32_t waits;
} harness;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

#define EXPECT(expected, call) \
    do { \
        const tw_result found_ = (call); \
        if (found_ != (expected)) { \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, tw_result_name(found_)); \
            exit(1); \
        } \
    } while (0)

uint8_t *read_file(const char *path, uint32_t *bytes);
uint32_t header_word(const uint8_t *table, uint32_t word); /* of the header of a table */
uint32_t draw(uint32_t *state); /* xorshift32 */
/* `bytes` of DRAM from `bus` on, filled with noise on both sides; the port of the board with it. */
tw_memory harness_open(harness *h, uint64_t bus, uint32_t bytes);
tw_port harness_port(harness *h, int interrupts);
void harness_close(harness *h);
/* Of one machine of a chip, which stays in its window of registers, by number; without caches. */
tw_port harness_machine(const uint32_t *number);

#endif
