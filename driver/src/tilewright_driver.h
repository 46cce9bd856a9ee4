/* Tilewright: a driver for the machine, in C99.
 *
 * It allocates nothing, knows no operating system, and depends on `tilewright.h` alone, which is made from the register table.
 * (A freestanding compiler may ask for memcpy and memset, as it may of any program.) What the board is like is said by the
 * functions of `tw_port`. All state is in objects of the caller; nothing is global.
 *
 * From a program to a result:
 *   tw_attach     find the machine, check its version, reset it            once per machine
 *   tw_open       look at an image: a program file (ELF), or a flat image  once per program
 *   tw_layout     cut an area of DRAM into the regions of the program
 *   tw_load       check, and copy instructions and constants to DRAM
 *   tw_infer      run it; or tw_begin, then tw_advance again and again, so that the processor has time for other things
 *
 * A chip with several machines has a `tw_device` for each, whose port adds TW_MACHINE_BYTES times its number to offsets; one
 * image and one CONST may serve all. A program of several cores is loaded with all of them by `tw_load_cores`: they share
 * each run, and wait for each other where it asks for that.
 *
 * Every function that can fail returns a `tw_result`, and changes nothing that it was not given. No function is safe against
 * another one at the same time on the same machine: calls from several threads or from interrupts are for the caller to order.
 */
#ifndef TILEWRIGHT_DRIVER_H
#define TILEWRIGHT_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "tilewright.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a function has to say: X(name, text). */
#define TW_RESULT_LIST(X) \
    X(OK, "done") \
    X(PENDING, "the machine works, or another run has it: call again") \
    X(NULL_POINTER, "a pointer is missing, or a function of the port") \
    X(NO_MACHINE, "the registers do not answer as those of the machine: check the address, the clock and the reset") \
    X(VERSION, "registers or instruction set have another version than this driver or this program") \
    X(NOT_AN_IMAGE, "neither a program file nor a flat image of a program") \
    X(SHORT_IMAGE, "the image ends before its end: copy it again, and give all of its bytes") \
    X(FORMAT, "the image has no table for this driver: compile the model again") \
    X(DAMAGED, "the image contradicts itself, or its checksum: make or copy it again") \
    X(UNTRUSTED, "the caller's function does not vouch for the image: nothing of it was looked at") \
    X(CONFIG, "the program is for another configuration of the machine: compile the model for this one") \
    X(CORES, "not as many machines as the program has cores: give as many as the program has cores, or one") \
    X(TOO_SMALL, "an array or an area of memory is too small") \
    X(MISALIGNED, "an address is no multiple of what it has to be one of") \
    X(ADDRESS, "memory lies beyond the addresses that the machine can reach") \
    X(OVERLAP, "memory for the program lies where its image is: give it other memory") \
    X(ARGUMENT, "there is no such tensor, set or step") \
    X(BUSY, "the machine is not idle: wait for the run that has it, or stop it") \
    X(REFUSED, "the machine did not take the start") \
    X(FAULT, "the machine stopped with a fault: see tw_last_fault") \
    X(LOST, "the machine was reset while it worked") \
    X(TIMEOUT, "not done in time: the machine was stopped, and can be started again") \
    X(STUCK, "the machine does not become idle: memory owes it an answer, a common reset is needed") \
    X(NO_PART, "a part of the network runs on the processor, and there is no function for it") \
    X(PART, "the function for a part of the network failed")

typedef enum tw_result {
#define TW_RESULT_(name, text) TW_##name,
    TW_RESULT_LIST(TW_RESULT_)
#undef TW_RESULT_
    TW_RESULTS
} tw_result;

/* The board. `read`, `write` and `now` are needed, the others may be NULL. */
typedef struct tw_port {
    void *context; /* given to every function */
    uint32_t (*read)(void *context, uint32_t offset); /* of a register, after all writes before it */
    void (*write)(void *context, uint32_t offset, uint32_t value); /* to a register, after all stores to memory before it */
    uint32_t (*now)(void *context); /* a clock that never stands still; it may wrap. All times are in its ticks */
    void (*clean)(void *context, const void *at, uint32_t bytes); /* write back what the caches hold; NULL: coherent */
    void (*invalidate)(void *context, void *at, uint32_t bytes); /* forget what the caches hold; NULL: coherent */
    void (*wait)(void *context, uint32_t ticks); /* until the interrupt, so many ticks at most, or less; NULL: poll */
} tw_port;

typedef struct tw_fault {
    uint32_t code; /* TW_FAULT_...; 0: there was none */
    uint32_t pc; /* word of the program at which the machine stopped: `tilewright disasm` shows it */
} tw_fault;

/* Machines that a network may have. Firmware for one may define this as 1, in all files: then the driver is smaller. */
#ifndef TW_MACHINES
#define TW_MACHINES TW_CORES_MOST
#endif

struct tw_run;

/* One machine. */
typedef struct tw_device {
    tw_port port;
    uint32_t config; /* hash of its configuration */
    uint32_t axi_bytes; /* bytes of a beat */
    uint32_t address_bits;
    uint32_t units; /* bit TW_UNIT_...: built */
    uint32_t watchdog, bus_watchdog; /* for the registers of that name, at every start; 0: never */
    tw_fault fault; /* the last one */
    const struct tw_run *owner; /* who may start it, and use WORK */
} tw_device;

/* One image, looked at and found to be whole. It points into the image, which must stay where it is and as it is: CONST alone
 * may change without harm to anything but results. */
typedef struct tw_program {
    const uint8_t *image, *table, *text, *constants;
    uint32_t bytes; /* of the image */
    uint32_t cores; /* that share each run; 1: one does all of it */
    uint32_t first[7]; /* words of the table at which tensors, inputs, outputs, steps, conversions, sizes and names begin */
} tw_program;

/* A tensor that lies in DRAM, or (TW_REGION_HOST) an array of the processor, dense, in the order of the model. */
typedef struct tw_tensor {
    const char *name;
    uint32_t number; /* as tw_tensor_at takes it */
    uint32_t region, offset; /* of its first byte */
    uint32_t element_bytes, kind; /* 0 signed, 1 unsigned, 2 float, 3 truth value */
    uint32_t flipped; /* 1: memory holds the bytes with their top bit toggled */
    uint32_t elements, dimensions, first_size;
    float scale;
    int32_t zero_point;
} tw_tensor;

/* Memory as the processor and as the machine sees it. */
typedef struct tw_memory {
    void *cpu;
    uint64_t bus;
    uint32_t bytes;
} tw_memory;

#define TW_SETS 2u /* of inputs and outputs, so that one can be filled while the machine works on the other */

/* Where everything of a program lies. Every address is a multiple of TW_BEAT_MAX, or at least of a beat. CONST and WORK are the
 * same for both sets. Who does not want tw_layout fills this. */
typedef struct tw_place {
    tw_memory text, region[TW_SETS][TW_REGIONS]; /* [set][TW_REGION_...] */
    uint32_t sets;
    uint32_t in_place; /* 1: text and constants are used where the image has them, and not copied */
} tw_place;

/* A program on a machine. */
typedef struct tw_network {
    tw_device *devices[TW_MACHINES]; /* by core; the first one's port keeps the caches */
    uint32_t cores; /* 1: the first one does the steps of all */
    tw_program program;
    tw_place place;
    uint32_t first_shared, last_shared; /* turns of a run in which it needs the machine, or WORK, for itself */
} tw_network;

/* An array of the caller. `data` NULL: the caller fills or reads the buffer in DRAM with tw_write and tw_read. */
typedef struct tw_array {
    void *data;
    uint32_t bytes;
} tw_array;

/* Does what the CPU subgraph `name` does; tw_read and tw_write reach its tensors. TW_OK, or what went wrong. */
typedef tw_result (*tw_part)(void *context, struct tw_run *run, const char *name);

/* One inference on its way. */
typedef struct tw_run {
    tw_network *network;
    const tw_array *inputs, *outputs; /* in the order of the model */
    tw_part part;
    void *context; /* for `part` */
    uint32_t set, turn;
    uint32_t begun, ended; /* a bit for each core: its step of this turn */
    uint32_t core; /* that failed first, if one did */
    uint32_t copied; /* bytes of the instructions of the machine's steps before, as tw_load copies them */
    tw_result failed; /* of that core, while others still work; TW_OK: none */
    tw_result result;
} tw_run;

typedef struct tw_counters {
    uint64_t cycles;
    uint32_t read_beats, write_beats;
    uint32_t units[TW_UNITS][TW_COUNTERS]; /* [TW_UNIT_...][TW_COUNTER_... / 4]; zeros for a unit that was not built */
} tw_counters;

/* Find the machine, check its versions, reset it, and wait until it is idle, `ticks` at most. */
tw_result tw_attach(tw_device *device, const tw_port *port, uint32_t ticks);
/* Reset the machine once more. Runs that were on their way are lost. */
tw_result tw_reset(tw_device *device, uint32_t ticks);
/* Stop whatever the machine does, and wait until it is idle. */
tw_result tw_abort(tw_device *device, uint32_t ticks);
/* What the last run took. */
tw_result tw_read_counters(const tw_device *device, tw_counters *counters);
/* Why the machine stopped last. */
tw_result tw_last_fault(const tw_device *device, tw_fault *fault);

/* Vouches for an image before anything of it is read: a signature, a hash that is known. TW_OK; anything else: it does not. */
typedef tw_result (*tw_verifier)(void *context, const void *image, uint32_t bytes);

/* Look at an image of `bytes` bytes. Everything that later functions rely on is checked here; nothing is copied. */
tw_result tw_open(tw_program *program, const void *image, uint32_t bytes);
/* The same, if `verify` vouches for all of these bytes. They must not change from then on: an image in memory that others write
 * has to be copied first. */
static inline tw_result tw_open_verified(tw_program *program, const void *image, uint32_t bytes, tw_verifier verify,
                                         void *context)
{
    if (program == NULL || image == NULL || verify == NULL)
        return TW_NULL_POINTER;
    return verify(context, image, bytes) == TW_OK ? tw_open(program, image, bytes) : TW_UNTRUSTED;
}
/* Compare instructions and constants with their checksums: takes time, finds what was damaged on the way, and not what was
 * changed on purpose. */
tw_result tw_verify(const tw_program *program);
/* Bytes of a region: TW_REGION_CONST, TW_REGION_WORK, TW_REGION_INPUT or TW_REGION_OUTPUT. */
uint32_t tw_region_bytes(const tw_program *program, uint32_t region);
uint32_t tw_tensor_count(const tw_program *program);
uint32_t tw_input_count(const tw_program *program);
uint32_t tw_output_count(const tw_program *program);
/* Tensor `number` of all. */
tw_result tw_tensor_at(const tw_program *program, uint32_t number, tw_tensor *tensor);
/* Input or output `number` of the network. */
tw_result tw_input_at(const tw_program *program, uint32_t number, tw_tensor *tensor);
tw_result tw_output_at(const tw_program *program, uint32_t number, tw_tensor *tensor);
/* The tensor of that name. */
tw_result tw_find(const tw_program *program, const char *name, tw_tensor *tensor);
/* Size, and bytes from neighbour to neighbour, along a dimension; 0 beyond the last one. */
uint32_t tw_size(const tw_program *program, const tw_tensor *tensor, uint32_t dimension);
uint32_t tw_stride(const tw_program *program, const tw_tensor *tensor, uint32_t dimension);

/* Bytes of DRAM that tw_layout takes at most. */
tw_result tw_area_bytes(const tw_program *program, uint32_t sets, uint32_t in_place, uint32_t *bytes);
/* Cut an area into the regions, with 1 or 2 sets of inputs and outputs. `image_bus` not NULL: the image itself lies in memory
 * that the machine reads, at that address of the bus, and is used there. */
tw_result tw_layout(const tw_program *program, const tw_memory *area, uint32_t sets, const uint64_t *image_bus,
                    tw_place *place);
/* Check that program, machines and memory fit together; copy what has to be copied. The machines share each run, and see memory
 * at the same addresses: core n of the program is `devices[n]`. A program of several cores runs on one machine, too. */
tw_result tw_load_cores(tw_network *network, tw_device *const *devices, uint32_t cores, const tw_program *program,
                        const tw_place *place);
static inline tw_result tw_load(tw_network *network, tw_device *device, const tw_program *program, const tw_place *place)
{
    return tw_load_cores(network, &device, 1u, program, place);
}

/* Prepare a run on a set of inputs and outputs. Arrays must stay until it is done. `part` may be NULL. */
tw_result tw_begin(tw_run *run, tw_network *network, uint32_t set, const tw_array *inputs, const tw_array *outputs,
                   tw_part part, void *context);
/* Do all that can be done without waiting. TW_PENDING: call again; TW_OK: the outputs are there; else: it has failed, on
 * `run->core` if a machine did, and all others have ended. */
tw_result tw_advance(tw_run *run);
/* Advance until it is done; after `ticks` it is cancelled: TW_TIMEOUT. */
tw_result tw_finish(tw_run *run, uint32_t ticks);
/* Give it up: machines that this run has started are stopped, each within `ticks`. */
tw_result tw_cancel(tw_run *run, uint32_t ticks);
/* tw_begin on set 0, and tw_finish. */
tw_result tw_infer(tw_network *network, const tw_array *inputs, const tw_array *outputs, tw_part part, void *context,
                   uint32_t ticks);

/* Copy a dense array of the tensor's type into, or out of, the tensor in DRAM (of that set, where it is an input or output). */
tw_result tw_write(const tw_network *network, uint32_t set, const tw_tensor *tensor, const void *data, uint32_t bytes);
tw_result tw_read(const tw_network *network, uint32_t set, const tw_tensor *tensor, void *data, uint32_t bytes);
/* The same with float arrays: QuantizeLinear and DequantizeLinear with the tensor's own scale. 8-bit tensors only. */
tw_result tw_write_real(const tw_network *network, uint32_t set, const tw_tensor *tensor, const float *data, uint32_t bytes);
tw_result tw_read_real(const tw_network *network, uint32_t set, const tw_tensor *tensor, float *data, uint32_t bytes);

/* Names and meanings; "unknown" for what is none. With TW_NO_TEXT defined the texts are empty. */
const char *tw_result_name(tw_result result);
const char *tw_result_text(tw_result result);
const char *tw_fault_name(uint32_t code);
const char *tw_fault_text(uint32_t code);
const char *tw_unit_name(uint32_t unit);
const char *tw_counter_name(uint32_t counter);

#ifdef __cplusplus
}
#endif

#endif
