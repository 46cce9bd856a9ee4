/* Reads images with a network on the machine, and prints what it sees and how long the machine took. The processor converts the
 * next image while the machine works on the last one. */
#include <stdio.h>
#include <string.h>

#include "board.h"
#include "tilewright_config.h"

enum { PATIENCE = 100000000, MOST_OUTPUTS = 64, PAGE = 4096 };

extern const uint8_t program_image[], program_end[], images[], images_end[];

static tw_device device;
static tw_program program;
static tw_network network;

static int failed(const char *what, tw_result result)
{
    tw_fault fault = {0, 0};
    printf("%s: %s, %s\n", what, tw_result_name(result), tw_result_text(result));
    if (result == TW_FAULT && tw_last_fault(&device, &fault) == TW_OK)
        printf("fault %s at word %lu\n", tw_fault_name(fault.code), (unsigned long)fault.pc);
    return 1;
}

/* CRC-32 as zlib has it. */
static uint32_t checksum(const uint8_t *bytes, uint32_t count)
{
    uint32_t crc = 0xffffffffu, bit;
    while (count-- > 0u) {
        crc ^= *bytes++;
        for (bit = 0; bit < 8u; bit++)
            crc = (crc >> 1) ^ (0xedb88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}

static void *take(tw_memory *area, tw_memory *into, uint32_t bytes)
{
    const uint32_t whole = (bytes + PAGE - 1u) / PAGE * PAGE;
    into->cpu = area->cpu;
    into->bus = area->bus;
    into->bytes = bytes;
    area->cpu = (uint8_t *)area->cpu + whole;
    area->bus += whole;
    area->bytes -= whole;
    return into->cpu;
}

/* Every region at a page of its own, as the simulators have them: then bursts are cut at the same places, and cycles are equal. */
static tw_result lay_out(tw_place *place)
{
    tw_memory area = board_memory();
    uint32_t needed, region, set;
    tw_result result = tw_area_bytes(&program, TW_SETS, 0u, &needed);
    if (result != TW_OK)
        return result;
    if (needed + (2u + TW_SETS * TW_REGIONS) * PAGE > area.bytes)
        return TW_TOO_SMALL;
    memset(place, 0, sizeof *place);
    place->sets = TW_SETS;
    for (region = 0; region < TW_REGIONS; region++)
        for (set = 0; set < TW_SETS; set++)
            if (set == 0u || region == TW_REGION_INPUT || region == TW_REGION_OUTPUT)
                (void)take(&area, &place->region[set][region], tw_region_bytes(&program, region));
            else
                place->region[set][region] = place->region[0][region];
    (void)take(&area, &place->text, needed);
    return TW_OK;
}

static void print_result(uint32_t number, const float *scores, uint32_t count, uint64_t cycles)
{
    uint32_t best = 0u, i;
    for (i = 1; i < count; i++)
        if (scores[i] > scores[best])
            best = i;
    printf("image %lu: class %lu, outputs %08lx, %lu cycles\n", (unsigned long)number, (unsigned long)best,
           (unsigned long)checksum((const uint8_t *)scores, count * 4u), (unsigned long)cycles);
}

static tw_result read_images(uint32_t *count)
{
    static float scores[2][MOST_OUTPUTS];
    tw_tensor input, output;
    tw_array in[2], out[2];
    tw_run runs[2];
    tw_counters counters;
    uint32_t i, each;
    tw_result result = tw_input_at(&program, 0u, &input);
    if (result == TW_OK)
        result = tw_output_at(&program, 0u, &output);
    if (result != TW_OK)
        return result;
    if (output.elements > (uint32_t)MOST_OUTPUTS)
        return TW_TOO_SMALL;
    each = input.elements * input.element_bytes;
    *count = (uint32_t)(images_end - images) / each;
    for (i = 0; i <= *count; i++) {
        tw_run *next = &runs[i % 2u], *last = &runs[(i + 1u) % 2u];
        tw_array *const source = &in[i % 2u], *const target = &out[i % 2u];
        if (i < *count) {
            source->data = (void *)(uintptr_t)(images + i * each);
            source->bytes = each;
            target->data = scores[i % 2u];
            target->bytes = sizeof scores[0];
            result = tw_begin(next, &network, i % 2u, source, target, NULL, NULL);
            if (result == TW_OK)
                result = tw_advance(next); /* converts it, and starts it if the machine is free */
            if (result != TW_PENDING)
                return result;
        }
        if (i > 0u) {
            result = tw_finish(last, PATIENCE);
            if (result == TW_OK)
                result = tw_read_counters(&device, &counters);
            if (result != TW_OK)
                return result;
            if (i < *count && tw_advance(next) != TW_PENDING) /* has the machine now */
                return tw_finish(next, 0u);
            print_result(i - 1u, scores[(i + 1u) % 2u], output.elements, counters.cycles);
        }
    }
    return TW_OK;
}

int main(void)
{
    tw_port port;
    tw_place place;
    tw_result result;
    uint32_t count = 0u, start;
    board_start();
    port = board_port();
    result = tw_attach(&device, &port, PATIENCE);
    if (result != TW_OK)
        return failed("machine", result);
    printf("machine " TW_CONFIG_NAME ", configuration %08lx\n", (unsigned long)device.config);
    result = tw_open(&program, program_image, (uint32_t)(program_end - program_image));
    if (result == TW_OK)
        result = tw_verify(&program);
    if (result != TW_OK)
        return failed("program", result);
    result = lay_out(&place);
    if (result == TW_OK)
        result = tw_load(&network, &device, &program, &place);
    if (result != TW_OK)
        return failed("load", result);
    printf("program of %lu bytes loaded\n", (unsigned long)program.bytes);
    start = board_ticks();
    result = read_images(&count);
    if (result != TW_OK)
        return failed("run", result);
    printf("%lu images, %lu interrupts, %lu cycles of the processor\n", (unsigned long)count,
           (unsigned long)board_interrupts(), (unsigned long)(board_ticks() - start));
    board_end();
    return 0;
}
