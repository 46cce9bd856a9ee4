/* One inference: turn by turn through its inputs, its steps and its outputs. */
#include "tw_internal.h"

/* Arrays are large enough and where their elements can lie; those of the host cannot be left out. */
static tw_result check_arrays(const tw_program *program, const tw_array *arrays, uint32_t first, uint32_t count)
{
    uint32_t i;
    tw_tensor tensor;
    if (count > 0u && arrays == NULL)
        return TW_NULL_POINTER;
    for (i = 0; i < count; i++) {
        tw_get_tensor(program, tw_word(program, first + i), &tensor);
        if (arrays[i].data == NULL) {
            if (tensor.region == TW_REGION_HOST)
                return TW_NULL_POINTER;
            continue;
        }
        if ((uint64_t)tensor.elements * tensor.element_bytes > arrays[i].bytes)
            return TW_TOO_SMALL;
        if (tw_is_real(&tensor) && ((uintptr_t)arrays[i].data & 3u) != 0u)
            return TW_MISALIGNED;
    }
    return TW_OK;
}

tw_result tw_begin(tw_run *run, tw_network *network, uint32_t set, const tw_array *inputs, const tw_array *outputs,
                   tw_part part, void *context)
{
    const tw_program *program;
    tw_result result;
    if (run == NULL || network == NULL || network->device == NULL)
        return TW_NULL_POINTER;
    program = &network->program;
    if (set >= network->place.sets)
        return TW_ARGUMENT;
    result = check_arrays(program, inputs, program->first[TW_PART_INPUTS], tw_input_count(program));
    if (result == TW_OK)
        result = check_arrays(program, outputs, program->first[TW_PART_OUTPUTS], tw_output_count(program));
    if (result != TW_OK)
        return result;
    if (network->device->owner == run)
        return TW_BUSY;
    run->network = network;
    run->inputs = inputs;
    run->outputs = outputs;
    run->part = part;
    run->context = context;
    run->set = set;
    run->turn = 0u;
    run->copied = 0u;
    run->started = 0u;
    run->result = TW_PENDING;
    return TW_OK;
}

/* Those inputs or outputs of the network that are buffers in DRAM. */
static void copy_edges(const tw_run *run, const tw_array *arrays, uint32_t first, uint32_t count, tw_move move)
{
    uint32_t i;
    tw_tensor tensor;
    for (i = 0; i < count; i++) {
        tw_get_tensor(&run->network->program, tw_word(&run->network->program, first + i), &tensor);
        if (tensor.region != TW_REGION_HOST && arrays[i].data != NULL)
            tw_transfer(run->network, run->set, &tensor, move, (uint8_t *)arrays[i].data, 1.0f, 0);
    }
}

static void convert(const tw_run *run, const tw_step *step)
{
    const tw_program *program = &run->network->program;
    uint32_t i;
    for (i = 0; i < step->conversions; i++) {
        const tw_array *arrays;
        tw_conversion conversion;
        tw_tensor tensor;
        tw_get_conversion(program, step->conversion + i, &conversion);
        tw_get_tensor(program, conversion.tensor, &tensor);
        arrays = conversion.dequantises != 0u ? run->outputs : run->inputs;
        tw_transfer(run->network, run->set, &tensor, conversion.dequantises != 0u ? TW_DEQUANTISE : TW_QUANTISE,
                    (uint8_t *)arrays[conversion.end].data, conversion.scale, conversion.zero_point);
    }
}

static tw_result take_step(tw_run *run, uint32_t number)
{
    tw_step step;
    tw_result result;
    tw_get_step(&run->network->program, number, &step);
    if (step.kind == (uint32_t)TW_STEP_CPU) {
        if (step.conversions > 0u) {
            convert(run, &step);
            return TW_OK;
        }
        if (run->part == NULL)
            return TW_NO_PART;
        return run->part(run->context, run, step.name) == TW_OK ? TW_OK : TW_PART;
    }
    if (run->started == 0u) {
        result = tw_start(run->network, run->set, &step, run->copied);
        if (result != TW_OK)
            return result;
        run->started = 1u;
    }
    result = tw_poll(run->network->device, step.first);
    if (result != TW_PENDING) {
        run->started = 0u;
        run->copied += tw_padded(step.words * 4u);
    }
    return result;
}

static tw_result take_turn(tw_run *run)
{
    const tw_program *program = &run->network->program;
    const uint32_t steps = tw_word(program, TW_TABLE_STEPS);
    if (run->turn > 0u && run->turn <= steps)
        return take_step(run, run->turn - 1u);
    if (run->turn == 0u)
        copy_edges(run, run->inputs, program->first[TW_PART_INPUTS], tw_input_count(program), TW_PUT);
    else
        copy_edges(run, run->outputs, program->first[TW_PART_OUTPUTS], tw_output_count(program), TW_GET_BYTES);
    return TW_OK;
}

static void leave(tw_run *run, tw_result result)
{
    if (run->network->device->owner == run)
        run->network->device->owner = NULL;
    run->started = 0u;
    run->result = result;
}

tw_result tw_advance(tw_run *run)
{
    tw_network *network;
    tw_device *device;
    tw_result result;
    if (run == NULL || run->network == NULL)
        return TW_NULL_POINTER;
    network = run->network;
    device = network->device;
    while (run->result == TW_PENDING) {
        if (run->turn == network->first_shared && device->owner != run) {
            if (device->owner != NULL)
                return TW_PENDING;
            device->owner = run;
        }
        if (run->turn > network->first_shared && run->turn <= network->last_shared && device->owner != run) {
            leave(run, TW_LOST);
            break;
        }
        result = take_turn(run);
        if (result == TW_PENDING)
            return TW_PENDING;
        if (result != TW_OK) {
            leave(run, result);
            break;
        }
        if (run->turn == network->last_shared && device->owner == run)
            device->owner = NULL;
        run->turn++;
        if (run->turn > tw_word(&network->program, TW_TABLE_STEPS) + 1u)
            leave(run, TW_OK);
    }
    return run->result;
}

tw_result tw_cancel(tw_run *run, uint32_t ticks)
{
    tw_result result = TW_OK;
    if (run == NULL || run->network == NULL)
        return TW_NULL_POINTER;
    if (run->started != 0u && run->network->device->owner == run)
        result = tw_abort(run->network->device, ticks);
    if (run->result == TW_PENDING)
        leave(run, TW_TIMEOUT);
    return result;
}

tw_result tw_finish(tw_run *run, uint32_t ticks)
{
    const tw_port *port;
    uint32_t start, gone;
    tw_result result;
    if (run == NULL || run->network == NULL)
        return TW_NULL_POINTER;
    port = &run->network->device->port;
    start = port->now(port->context);
    for (;;) {
        gone = port->now(port->context) - start;
        result = tw_advance(run);
        if (result != TW_PENDING)
            return result;
        if (gone >= ticks) {
            result = tw_cancel(run, ticks);
            return result == TW_OK ? TW_TIMEOUT : result;
        }
        if (port->wait != NULL && run->started != 0u)
            port->wait(port->context, ticks - gone);
    }
}

tw_result tw_infer(tw_network *network, const tw_array *inputs, const tw_array *outputs, tw_part part, void *context,
                   uint32_t ticks)
{
    tw_run run;
    tw_result result = tw_begin(&run, network, 0u, inputs, outputs, part, context);
    return result == TW_OK ? tw_finish(&run, ticks) : result;
}
