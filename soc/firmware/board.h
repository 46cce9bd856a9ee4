/* The system on chip as the driver sees it, and a UART for printf. */
#ifndef BOARD_H
#define BOARD_H

#include "tilewright_driver.h"

void board_start(void);      /* timer, interrupts; SDRAM, where there is a controller to set up */
tw_port board_port(void);    /* of the machine */
tw_memory board_memory(void); /* what processor and machine share */
uint32_t board_ticks(void);  /* cycles of the processor since board_start; wraps */
uint32_t board_interrupts(void); /* how many of the machine's arrived */
void board_end(void);        /* everything printed has left; a simulation ends */

#endif
