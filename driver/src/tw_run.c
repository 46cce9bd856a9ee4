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

/* Gives the network's machines that one run (NULL: none) has to another, and counts them. */
static uint32_t hand(const tw_network *network, const tw_run *from, const tw_run *to)
{
    uint32_t core, count = 0u;
    for (core = 0; core < tw_machines(network); core++) {
        if (network->devices[core]->owner == from) {
            network->devices[core]->owner = to;
            count++;
        }
    }
    return count;
}

tw_result tw_begin(tw_run *run, tw_network *network, uint32_t set, const tw_array *inputs, const tw_array *outputs,
                   tw_part part, void *context)
{
    const tw_program *program;
    tw_result result;
    if (run == NULL || network == NULL || network->cores == 0u)
        return TW_NULL_POINTER;
    program = &network->program;
    if (set >= network->place.sets)
        return TW_ARGUMENT;
    result = check_arrays(program, inputs, program->first[TW_PART_INPUTS], tw_input_count(program));
    if (result == TW_OK)
        result = check_arrays(program, outputs, program->first[TW_PART_OUTPUTS], tw_output_count(program));
    if (result != TW_OK)
        return result;
    if (hand(network, run, run) != 0u)
        return TW_BUSY;
    run->network = network;
    run->inputs = inputs;
    run->outputs = outputs;
    run->part = part;
    run->context = context;
    run->set = set;
    run->turn = 0u;
    run->copied = 0u;
    run->begun = 0u;
    run->ended = 0u;
    run->core = 0u;
    run->failed = TW_OK;
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

static tw_result take_part(tw_run *run, const tw_step *step)
{
    if (step->conversions > 0u) {
        convert(run, step);
        return TW_OK;
    }
    if (run->part == NULL)
        return TW_NO_PART;
    return run->part(run->context, run, step->name) == TW_OK ? TW_OK : TW_PART;
}

/* Begins a step if its machine is idle, unless another one has failed; TW_OK: it has ended well. */
static tw_result take_step(tw_run *run, const tw_step *step, uint32_t core, uint32_t copied)
{
    tw_device *device = run->network->devices[core];
    tw_result result;
    if (device->owner != run)
        return TW_LOST;
    if (((run->begun >> core) & 1u) == 0u) {
        if (run->failed != TW_OK)
            return TW_OK;
        result = tw_start(run->network, device, run->set, step, copied);
        if (result != TW_OK)
            return result;
        run->begun |= 1u << core;
    }
    return tw_poll(device, step->first);
}

/* The machine's steps of a turn: neighbours of rising cores, each on its machine, until all have ended. The first failure is
 * that of the turn: it comes when no other machine works any more. */
static tw_result take_phase(tw_run *run, tw_step *step)
{
    const tw_program *program = &run->network->program;
    uint32_t copied = run->copied, next = run->turn, waits = 0u, core;
    tw_result result;
    for (;;) {
        core = tw_machines(run->network) > 1u ? step->core : 0u;
        result = ((run->ended >> core) & 1u) != 0u ? TW_OK : take_step(run, step, core, copied);
        if (result == TW_PENDING) {
            waits = 1u;
        } else {
            run->ended |= 1u << core;
            if (result != TW_OK && run->failed == TW_OK) {
                run->failed = result;
                run->core = core;
            }
        }
        copied += tw_padded(step->words * 4u);
        if (tw_machines(run->network) == 1u || next == tw_word(program, TW_TABLE_STEPS))
            break;
        tw_get_step(program, next, step);
        if (step->core <= core) /* that of a part on the processor is 0 */
            break;
        next++;
    }
    if (waits != 0u)
        return TW_PENDING;
    run->begun = 0u;
    run->ended = 0u;
    run->copied = copied;
    run->turn = next;
    return run->failed;
}

static tw_result take_turn(tw_run *run)
{
    const tw_program *program = &run->network->program;
    const uint32_t steps = tw_word(program, TW_TABLE_STEPS);
    tw_step step;
    if (run->turn > 0u && run->turn <= steps) {
        tw_get_step(program, run->turn - 1u, &step);
        return step.kind == (uint32_t)TW_STEP_CPU ? take_part(run, &step) : take_phase(run, &step);
    }
    if (run->turn == 0u)
        copy_edges(run, run->inputs, program->first[TW_PART_INPUTS], tw_input_count(program), TW_PUT);
    else
        copy_edges(run, run->outputs, program->first[TW_PART_OUTPUTS], tw_output_count(program), TW_GET_BYTES);
    return TW_OK;
}

static void leave(tw_run *run, tw_result result)
{
    (void)hand(run->network, run, NULL);
    run->result = result;
}

tw_result tw_advance(tw_run *run)
{
    tw_network *network;
    tw_result result;
    if (run == NULL || run->network == NULL)
        return TW_NULL_POINTER;
    network = run->network;
    while (run->result == TW_PENDING) {
        if (run->turn >= network->first_shared && run->turn <= network->last_shared && run->begun == 0u
            && hand(network, run, run) != tw_machines(network)) {
            if (run->turn > network->first_shared) {
                leave(run, TW_LOST);
                break;
            }
            if (hand(network, NULL, NULL) != tw_machines(network)) /* all or none: two runs never wait for each other */
                return TW_PENDING;
            (void)hand(network, NULL, run);
        }
        result = take_turn(run);
        if (result == TW_PENDING)
            return TW_PENDING;
        if (result != TW_OK) {
            leave(run, result);
            break;
        }
        run->turn++;
        if (run->turn > network->last_shared)
            (void)hand(network, run, NULL);
        if (run->turn > tw_word(&network->program, TW_TABLE_STEPS) + 1u)
            leave(run, TW_OK);
    }
    return run->result;
}

tw_result tw_cancel(tw_run *run, uint32_t ticks)
{
    tw_result result = TW_OK, stopped;
    tw_device *device;
    uint32_t core, working;
    if (run == NULL || run->network == NULL)
        return TW_NULL_POINTER;
    working = run->begun & ~run->ended;
    for (core = 0; core < tw_machines(run->network); core++) {
        device = run->network->devices[core];
        if (((working >> core) & 1u) == 0u || device->owner != run)
            continue;
        stopped = tw_abort(device, ticks);
        if (result == TW_OK)
            result = stopped;
    }
    if (run->result == TW_PENDING)
        leave(run, TW_TIMEOUT);
    return result;
}

tw_result tw_finish(tw_run *run, uint32_t ticks)
{
    const tw_port *clock, *port;
    uint32_t start, gone, core, working;
    tw_result result;
    if (run == NULL || run->network == NULL)
        return TW_NULL_POINTER;
    clock = &run->network->devices[0]->port;
    start = clock->now(clock->context);
    for (;;) {
        gone = clock->now(clock->context) - start;
        result = tw_advance(run);
        if (result != TW_PENDING)
            return result;
        if (gone >= ticks) {
            result = tw_cancel(run, ticks);
            return result == TW_OK ? TW_TIMEOUT : result;
        }
        working = run->begun & ~run->ended;
        for (core = 0; core + 1u < tw_machines(run->network) && working >> core > 1u; core++) {
        }
        port = core == 0u ? clock : &run->network->devices[core]->port;
        if (port->wait != NULL && working != 0u)
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
