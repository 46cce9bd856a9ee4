/* A program on a machine: where its regions lie, and whether all of it fits together. */
#include "tw_internal.h"

static uint32_t steps_of(const tw_program *program)
{
    return tw_word(program, TW_TABLE_STEPS);
}

uint32_t tw_copied_text_bytes(const tw_program *program)
{
    uint32_t bytes = 0u, i;
    tw_step step;
    for (i = 0; i < steps_of(program); i++) {
        tw_get_step(program, i, &step);
        if (step.kind == (uint32_t)TW_STEP_MACHINE)
            bytes = tw_sum(bytes, tw_padded(step.words * 4u));
    }
    return bytes;
}

tw_result tw_area_bytes(const tw_program *program, uint32_t sets, uint32_t in_place, uint32_t *bytes)
{
    uint32_t needed = TW_BEAT_MAX, i;
    if (!tw_is_open(program) || bytes == NULL)
        return TW_NULL_POINTER;
    if (sets == 0u || sets > TW_SETS)
        return TW_ARGUMENT;
    if (in_place == 0u)
        needed = tw_sum(needed, tw_copied_text_bytes(program));
    for (i = in_place == 0u ? TW_REGION_CONST : TW_REGION_WORK; i < TW_REGIONS; i++)
        needed = tw_sum(needed, tw_padded(tw_region_bytes(program, i)));
    if (sets > 1u)
        needed = tw_sum(needed, tw_sum(tw_padded(tw_region_bytes(program, TW_REGION_INPUT)),
                                       tw_padded(tw_region_bytes(program, TW_REGION_OUTPUT))));
    *bytes = needed;
    return needed < 0xffffffffu ? TW_OK : TW_TOO_SMALL;
}

/* The next region of an area; `used` moves behind it. */
static tw_memory cut(const tw_memory *area, uint32_t *used, uint32_t bytes)
{
    tw_memory part;
    part.cpu = (uint8_t *)area->cpu + *used;
    part.bus = area->bus + *used;
    part.bytes = bytes;
    *used += tw_padded(bytes);
    return part;
}

tw_result tw_layout(const tw_program *program, const tw_memory *area, uint32_t sets, const uint64_t *image_bus, tw_place *place)
{
    uint32_t needed, used, i;
    tw_result result;
    tw_place found = {0};
    if (area == NULL || place == NULL || area->cpu == NULL)
        return TW_NULL_POINTER;
    result = tw_area_bytes(program, sets, image_bus != NULL ? 1u : 0u, &needed);
    if (result != TW_OK)
        return result;
    used = (uint32_t)((0u - area->bus) & (TW_BEAT_MAX - 1u));
    if (area->bytes < needed - TW_BEAT_MAX || area->bytes - (needed - TW_BEAT_MAX) < used)
        return TW_TOO_SMALL;
    found.sets = sets;
    found.in_place = image_bus != NULL ? 1u : 0u;
    if (image_bus != NULL) {
        found.text.cpu = (void *)(uintptr_t)program->text;
        found.text.bus = *image_bus + (uint64_t)(program->text - program->image);
        found.text.bytes = tw_word(program, TW_TABLE_TEXT_BYTES);
    } else {
        found.text = cut(area, &used, tw_copied_text_bytes(program));
    }
    for (i = 0; i < sets * TW_REGIONS; i++) {
        const uint32_t set = i / TW_REGIONS, region = i % TW_REGIONS;
        tw_memory *memory = &found.region[set][region];
        if (set > 0u && region != TW_REGION_INPUT && region != TW_REGION_OUTPUT) {
            *memory = found.region[0][region];
        } else if (region == TW_REGION_CONST && image_bus != NULL) {
            memory->cpu = (void *)(uintptr_t)program->constants;
            memory->bus = *image_bus + (uint64_t)(program->constants - program->image);
            memory->bytes = tw_region_bytes(program, region);
        } else {
            *memory = cut(area, &used, tw_region_bytes(program, region));
        }
    }
    *place = found;
    return TW_OK;
}

/* `is_image`: what lies there is the image's own. Other memory shares no byte with the image, which is read as long as the
 * program is used. */
static tw_result check_memory(const tw_device *device, const tw_program *program, const tw_memory *memory, uint32_t bytes,
                              uint32_t is_image)
{
    const uintptr_t image = (uintptr_t)program->image, start = (uintptr_t)memory->cpu;
    const uint64_t last = ~(uint64_t)0u >> (64u - device->address_bits);
    if (memory->bytes < bytes || bytes == 0xffffffffu) /* as a limit of the machine this would be none */
        return TW_TOO_SMALL;
    if (bytes > 0u && memory->cpu == NULL)
        return TW_NULL_POINTER;
    if (((uint32_t)(memory->bus & 0xffffffffu) & (device->axi_bytes - 1u)) != 0u)
        return TW_MISALIGNED;
    if (memory->bus > last || (bytes > 0u && tw_padded(bytes) - 1u > last - memory->bus))
        return TW_ADDRESS;
    if (is_image == 0u && start < image + program->bytes && start + bytes > image)
        return TW_OVERLAP;
    return TW_OK;
}

static tw_result check_place(const tw_device *device, const tw_program *program, const tw_place *place)
{
    uint32_t text = tw_word(program, TW_TABLE_TEXT_BYTES), i;
    tw_step step;
    tw_result result;
    if (place->in_place == 0u)
        text = tw_copied_text_bytes(program);
    result = check_memory(device, program, &place->text, text, place->in_place);
    for (i = 0; result == TW_OK && i < place->sets * TW_REGIONS; i++) {
        const uint32_t region = i % TW_REGIONS;
        result = check_memory(device, program, &place->region[i / TW_REGIONS][region], tw_region_bytes(program, region),
                              region == TW_REGION_CONST ? place->in_place : 0u);
    }
    for (i = 0; result == TW_OK && place->in_place != 0u && i < steps_of(program); i++) {
        tw_get_step(program, i, &step);
        if (step.kind == (uint32_t)TW_STEP_MACHINE && (step.text & (device->axi_bytes - 1u)) != 0u)
            result = TW_MISALIGNED;
    }
    return result;
}

static void copy(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    uint32_t i;
    for (i = 0; i < bytes; i++)
        to[i] = from[i];
}

static void clean(const tw_device *device, const tw_memory *memory)
{
    if (device->port.clean != NULL && memory->bytes > 0u)
        device->port.clean(device->port.context, memory->cpu, memory->bytes);
}

static void fill(const tw_device *device, const tw_program *program, const tw_place *place)
{
    uint8_t *text = (uint8_t *)place->text.cpu;
    uint32_t at = 0u, i;
    tw_step step;
    if (place->in_place == 0u) {
        for (i = 0; i < steps_of(program); i++) {
            tw_get_step(program, i, &step);
            if (step.kind != (uint32_t)TW_STEP_MACHINE)
                continue;
            copy(&text[at], &program->text[step.text], step.words * 4u);
            at += tw_padded(step.words * 4u);
        }
        copy((uint8_t *)place->region[0][TW_REGION_CONST].cpu, program->constants, tw_region_bytes(program, TW_REGION_CONST));
    }
    /* Of the rest too: a line that is written back later would destroy what the machine has written. */
    clean(device, &place->text);
    for (i = 0; i < place->sets * TW_REGIONS; i++)
        clean(device, &place->region[i / TW_REGIONS][i % TW_REGIONS]);
}

/* Whether a run needs WORK at that turn: 0 takes the inputs, 1 .. steps are the steps, the last one gives the outputs. */
static uint32_t shares(const tw_program *program, uint32_t turn)
{
    uint32_t i, first, count;
    tw_tensor tensor;
    tw_step step;
    tw_conversion conversion;
    if (turn == 0u || turn > steps_of(program)) {
        count = turn == 0u ? tw_input_count(program) : tw_output_count(program);
        first = program->first[turn == 0u ? TW_PART_INPUTS : TW_PART_OUTPUTS];
        for (i = 0; i < count; i++) {
            tw_get_tensor(program, tw_word(program, first + i), &tensor);
            if (tensor.region == TW_REGION_WORK)
                return 1u;
        }
        return 0u;
    }
    tw_get_step(program, turn - 1u, &step);
    if (step.kind == (uint32_t)TW_STEP_MACHINE || step.conversions == 0u)
        return 1u;
    for (i = 0; i < step.conversions; i++) {
        tw_get_conversion(program, step.conversion + i, &conversion);
        tw_get_tensor(program, conversion.tensor, &tensor);
        if (tensor.region == TW_REGION_WORK)
            return 1u;
    }
    return 0u;
}

/* One of the devices: attached, not one of those before it, for this program and this memory. */
static tw_result check_device(tw_device *const *devices, uint32_t number, const tw_program *program, const tw_place *place)
{
    const tw_device *device = devices[number];
    uint32_t i;
    if (device == NULL || device->port.read == NULL)
        return TW_NULL_POINTER;
    for (i = 0; i < number; i++)
        if (devices[i] == device)
            return TW_CORES;
    if (tw_word(program, TW_TABLE_CONFIG) != device->config || tw_word(program, TW_TABLE_AXI_BYTES) != device->axi_bytes)
        return TW_CONFIG;
    return check_place(device, program, place);
}

tw_result tw_load_cores(tw_network *network, tw_device *const *devices, uint32_t cores, const tw_program *program,
                        const tw_place *place)
{
    tw_result result = TW_OK;
    uint32_t turn, i;
    if (network == NULL || devices == NULL || place == NULL || !tw_is_open(program))
        return TW_NULL_POINTER;
    if (place->sets == 0u || place->sets > TW_SETS)
        return TW_ARGUMENT;
    if (cores != 1u && (cores > TW_MACHINES || cores != program->cores))
        return TW_CORES;
    for (i = 0; result == TW_OK && i < cores; i++)
        result = check_device(devices, i, program, place);
    if (result != TW_OK)
        return result;
    fill(devices[0], program, place);
    for (i = 0; i < cores; i++)
        network->devices[i] = devices[i];
    network->cores = cores;
    network->program = *program;
    network->place = *place;
    network->first_shared = 0xffffffffu;
    network->last_shared = 0u;
    for (turn = 0; turn <= steps_of(program) + 1u; turn++) {
        if (shares(program, turn)) {
            network->last_shared = turn;
            if (network->first_shared == 0xffffffffu)
                network->first_shared = turn;
        }
    }
    return TW_OK;
}
