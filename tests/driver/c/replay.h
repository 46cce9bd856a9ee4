/* Parts on the processor as they were recorded: a `tw_part` that compares the inputs of each with the recorded ones, every
 * byte, and gives the recorded outputs. For each part, in the order of the run, a file holds: name, count of tensors; of
 * each tensor 0 (input) or 1 (output), name, bytes, and these. Numbers have 32 bits, little-endian; names end with a zero
 * byte. */
#ifndef REPLAY_H
#define REPLAY_H

#include "tilewright_driver.h"

void replay_open(const char *path);
tw_result replay_part(void *context, tw_run *run, const char *name);
uint32_t replay_close(void); /* how many parts there were; all must have been asked for */

#endif
