/* A board with one machine or several, to be driven by software: registers, memory, interrupt and a clock. Addresses of the
 * bus begin at the first byte of the memory. The clock stands still between calls. */
#ifndef TILEWRIGHT_BOARD_H
#define TILEWRIGHT_BOARD_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void board_open(int argc, const char **argv); /* plusargs of testbench.v; the machine is reset */
void board_close(void);
uint8_t *board_memory(void);
uint64_t board_memory_bytes(void);
uint32_t board_read(uint32_t offset);
void board_write(uint32_t offset, uint32_t value);
int board_refused(void); /* the access before */
uint32_t board_cycles(void); /* since it was opened */
int board_interrupt(void);
void board_run(uint32_t cycles);
void board_await(uint32_t most); /* until the interrupt, or so many cycles */
void board_reset(uint32_t cycles);
uint32_t board_broken(void); /* rules of AXI4, a bit each, if they are checked */

#ifdef __cplusplus
}
#endif

#endif
