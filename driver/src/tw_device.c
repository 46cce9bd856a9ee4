/* The machine behind its registers: found, reset, started, watched and stopped. */
#include "tw_internal.h"

static uint32_t get(const tw_device *device, uint32_t offset)
{
    return device->port.read(device->port.context, offset);
}

static void put(const tw_device *device, uint32_t offset, uint32_t value)
{
    device->port.write(device->port.context, offset, value);
}

static void put_pair(const tw_device *device, uint32_t low, uint64_t value)
{
    put(device, low, (uint32_t)(value & 0xffffffffu));
    put(device, low + 4u, (uint32_t)(value >> 32));
}

tw_result tw_wait_idle(const tw_device *device, uint32_t ticks)
{
    const uint32_t start = device->port.now(device->port.context);
    uint32_t late = 0u;
    for (;;) {
        /* The clock is read before STATUS: what comes in the last moment counts. */
        late = device->port.now(device->port.context) - start >= ticks;
        if (get(device, TW_REG_ID) != TW_ID_VALUE)
            return TW_NO_MACHINE;
        if ((get(device, TW_REG_STATUS) & TW_STATUS_IDLE) != 0u)
            return TW_OK;
        if (late != 0u)
            return TW_STUCK;
    }
}

tw_result tw_reset(tw_device *device, uint32_t ticks)
{
    tw_result result;
    if (device == NULL || device->port.read == NULL)
        return TW_NULL_POINTER;
    put(device, TW_REG_CONTROL, TW_CONTROL_RESET);
    device->owner = NULL;
    result = tw_wait_idle(device, ticks);
    device->fault.code = TW_FAULT_NONE;
    device->fault.pc = 0u;
    return result;
}

tw_result tw_attach(tw_device *device, const tw_port *port, uint32_t ticks)
{
    uint32_t words[2];
    tw_result result;
    if (device == NULL || port == NULL || port->read == NULL || port->write == NULL || port->now == NULL)
        return TW_NULL_POINTER;
    device->port = *port;
    if (get(device, TW_REG_ID) != TW_ID_VALUE)
        return TW_NO_MACHINE;
    if (get(device, TW_REG_VERSION) != (TW_HARDWARE_VERSION | (TW_ISA_VERSION << 16)))
        return TW_VERSION;
    result = tw_reset(device, ticks);
    if (result != TW_OK)
        return result;
    words[0] = get(device, TW_REG_CAPABILITY);
    words[1] = get(device, TW_REG_CAPABILITY + 4u);
    device->config = get(device, TW_REG_CONFIG);
    device->units = (uint32_t)TW_GET(words, CAP_UNITS);
    device->axi_bytes = (uint32_t)TW_GET(words, CAP_AXI_BYTES);
    device->address_bits = (uint32_t)TW_GET(words, CAP_AXI_ADDR_BITS);
    device->watchdog = get(device, TW_REG_WATCHDOG);
    device->bus_watchdog = get(device, TW_REG_BUS_WATCHDOG);
    return TW_OK;
}

tw_result tw_abort(tw_device *device, uint32_t ticks)
{
    tw_result result;
    if (device == NULL || device->port.read == NULL)
        return TW_NULL_POINTER;
    put(device, TW_REG_CONTROL, TW_CONTROL_ABORT);
    result = tw_wait_idle(device, ticks);
    put(device, TW_REG_IRQ_PENDING, 1u);
    return result;
}

tw_result tw_last_fault(const tw_device *device, tw_fault *fault)
{
    if (device == NULL || fault == NULL)
        return TW_NULL_POINTER;
    *fault = device->fault;
    return TW_OK;
}

tw_result tw_read_counters(const tw_device *device, tw_counters *counters)
{
    uint32_t unit, counter, low;
    if (device == NULL || counters == NULL || device->port.read == NULL)
        return TW_NULL_POINTER;
    low = get(device, TW_REG_CYCLES_LO);
    counters->cycles = ((uint64_t)get(device, TW_REG_CYCLES_HI) << 32) | low;
    counters->read_beats = get(device, TW_REG_READ_BEATS);
    counters->write_beats = get(device, TW_REG_WRITE_BEATS);
    for (unit = 0; unit < TW_UNITS; unit++)
        for (counter = 0; counter < TW_COUNTERS; counter++)
            counters->units[unit][counter] =
                (device->units >> unit) & 1u ? get(device, TW_COUNTER(unit, 4u * counter)) : 0u;
    return TW_OK;
}

tw_result tw_start(const tw_network *network, const tw_device *device, uint32_t set, const tw_step *step, uint32_t copied)
{
    const tw_place *place = &network->place;
    uint32_t region, status;
    status = get(device, TW_REG_STATUS);
    if (status == 0xffffffffu)
        return TW_NO_MACHINE;
    if ((status & TW_STATUS_IDLE) == 0u)
        return TW_PENDING;
    put_pair(device, TW_REG_PROGRAM_LO, place->text.bus + (place->in_place != 0u ? step->text : copied));
    put(device, TW_REG_PROGRAM_WORDS, step->words);
    for (region = 0; region < TW_REGIONS; region++) {
        put_pair(device, TW_REG_BASE_CONST_LO + 8u * region, place->region[set][region].bus);
        put(device, TW_REG_LIMIT_CONST + 4u * region, tw_region_bytes(&network->program, region));
    }
    put(device, TW_REG_WATCHDOG, device->watchdog);
    put(device, TW_REG_BUS_WATCHDOG, device->bus_watchdog);
    put(device, TW_REG_IRQ_PENDING, 1u);
    put(device, TW_REG_IRQ_ENABLE, device->port.wait != NULL ? 1u : 0u);
    put(device, TW_REG_CONTROL, TW_CONTROL_START);
    status = get(device, TW_REG_STATUS);
    if (status == 0xffffffffu)
        return TW_NO_MACHINE;
    return (status & TW_STATUS_REFUSED) != 0u ? TW_REFUSED : TW_OK;
}

tw_result tw_poll(tw_device *device, uint32_t first_word)
{
    const uint32_t status = get(device, TW_REG_STATUS);
    if (status == 0xffffffffu)
        return TW_NO_MACHINE;
    if ((status & TW_STATUS_ERROR) != 0u) {
        device->fault.code = get(device, TW_REG_ERROR_CODE);
        device->fault.pc = get(device, TW_REG_ERROR_PC) + first_word;
        put(device, TW_REG_IRQ_PENDING, 1u);
        return TW_FAULT;
    }
    if ((status & TW_STATUS_BUSY) != 0u)
        return TW_PENDING;
    put(device, TW_REG_IRQ_PENDING, 1u);
    return (status & TW_STATUS_DONE) != 0u ? TW_OK : TW_LOST;
}
