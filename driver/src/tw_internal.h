/* What the files of the driver share. */
#ifndef TW_INTERNAL_H
#define TW_INTERNAL_H

#include "tilewright_driver.h"

enum { TW_STEP_MACHINE = 0, TW_STEP_CPU = 1 };

/* Parts of the table, in the order of their counts in the header. */
enum { TW_PART_TENSORS, TW_PART_INPUTS, TW_PART_OUTPUTS, TW_PART_STEPS, TW_PART_CONVERSIONS, TW_PART_SIZES, TW_PART_NAMES };

typedef struct tw_step {
    uint32_t kind;
    uint32_t core, first, words, text; /* of the machine: words of the program, byte in the image of the instructions */
    const char *name; /* of the processor */
    uint32_t conversion, conversions; /* 0: the caller's function does it */
} tw_step;

typedef struct tw_conversion {
    uint32_t dequantises; /* 0: from an input to DRAM; 1: from there to an output */
    uint32_t end, tensor; /* place among inputs or outputs; number of the tensor in DRAM */
    float scale;
    int32_t zero_point;
} tw_conversion;

/* What is done to each element between an array and a tensor in DRAM. */
typedef enum tw_move { TW_PUT, TW_GET_BYTES, TW_QUANTISE, TW_DEQUANTISE } tw_move;

/* Whether tw_open has filled it; one of zeros is none. */
uint32_t tw_is_open(const tw_program *program);
uint32_t tw_u32(const uint8_t *at);
uint32_t tw_word(const tw_program *program, uint32_t word);
float tw_real(uint32_t bits);
/* Of bytes that follow those with the checksum `before`; 0 at the beginning. */
uint32_t tw_crc32(uint32_t before, const uint8_t *bytes, uint32_t count);
/* Of bytes, up to a whole widest beat; sums that do not fit into 32 bits are 0xffffffff. */
uint32_t tw_sum(uint32_t a, uint32_t b);
uint32_t tw_padded(uint32_t bytes);
uint32_t tw_is_byte(const tw_tensor *tensor);
uint32_t tw_is_real(const tw_tensor *tensor);

/* The bytes of the section of that name in a program file, which a flat image is not; NULL if there is none, or if it lies
 * outside. */
const uint8_t *tw_section(const tw_program *program, const char *name, uint32_t *length);

/* Numbers must be below the counts in the header. */
void tw_get_tensor(const tw_program *program, uint32_t number, tw_tensor *tensor);
void tw_get_step(const tw_program *program, uint32_t number, tw_step *step);
void tw_get_conversion(const tw_program *program, uint32_t number, tw_conversion *conversion);
/* The header, which says where the parts are; then their entries. */
tw_result tw_check_table(tw_program *program);
tw_result tw_check_entries(tw_program *program);

/* Machines of the network. */
static inline uint32_t tw_machines(const tw_network *network)
{
    return TW_MACHINES > 1u ? network->cores : 1u;
}

/* Bytes in DRAM from the first to the last one of a tensor, both included; more than 32 bits hold if it is too long. */
uint64_t tw_extent(const tw_program *program, const tw_tensor *tensor);
/* Between a dense array and a tensor in DRAM; scale and zero-point are those of the conversion. */
void tw_transfer(const tw_network *network, uint32_t set, const tw_tensor *tensor, tw_move move, uint8_t *array, float scale,
                 int32_t zero_point);

/* Bytes of the instructions as they are copied: each step's begin at a multiple of the widest beat. */
uint32_t tw_copied_text_bytes(const tw_program *program);
tw_result tw_wait_idle(const tw_device *device, uint32_t ticks);
/* `copied`: where the step's instructions begin among the copied ones. */
tw_result tw_start(const tw_network *network, const tw_device *device, uint32_t set, const tw_step *step, uint32_t copied);
tw_result tw_poll(tw_device *device, uint32_t first_word);

#endif
