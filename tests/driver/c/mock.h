/* Registers as a machine has them, or as something broken has, with a memory that no machine works on: a run leaves
 * `MOCK_MARK + i` in byte `i` of OUTPUT, and what a hostile program would write. It refuses to work outside of its memory. */
#ifndef MOCK_H
#define MOCK_H

#include "board.h"

typedef enum mock_mood {
    MOCK_WELL,
    MOCK_ABSENT, /* every register reads as ones */
    MOCK_ZERO, /* as zeros */
    MOCK_OTHER_HARDWARE,
    MOCK_OTHER_ISA,
    MOCK_HANGS, /* a program never ends; abort stops it */
    MOCK_STUCK, /* nor does abort */
    MOCK_FAULTS, /* a program ends with READ_ERROR at word 7 */
    MOCK_REFUSES, /* START is not taken */
    MOCK_FORGETS, /* a program is neither running nor done */
    MOCK_VANISHES, /* registers read as ones once a program runs */
    MOCK_DIES, /* so they do, but a little later */
    MOCK_DEAF, /* the interrupt never comes */
    MOCK_LOUD /* the interrupt is always there */
} mock_mood;

#define MOCK_MARK 0x30u
#define MOCK_MACHINES 2u

void mock_open(uint8_t *memory, uint64_t bytes, uint32_t config, uint32_t axi_bytes, uint32_t address_bits);
/* More memory, elsewhere on the bus. */
void mock_also(uint8_t *memory, uint64_t bus, uint64_t bytes);
/* From now on a run writes words that tempt into every region, CONST and INPUT too. */
void mock_write_anywhere(uint32_t seed);
void mock_feel(mock_mood mood); /* all machines of the chip */
void mock_feel_one(uint32_t number, mock_mood mood);
/* Starts and ends since mock_forget: "a" and "A" of the first machine, "b" and "B" of the second. */
const char *mock_events(void);
void mock_forget(void);
uint32_t mock_starts(void);

#endif
