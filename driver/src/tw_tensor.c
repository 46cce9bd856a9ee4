/* Tensors in DRAM: copied, quantised and dequantised, element by element. */
#include "tw_internal.h"

/* QuantizeLinear: round to nearest, ties to even, then saturate; what is not a number becomes the least value. */
static int32_t quantised(float x, float scale, int32_t zero_point, int32_t low)
{
    const float least = (float)(low - zero_point), most = (float)(low + 255 - zero_point);
    union {
        float value;
        uint32_t bits;
    } sum;
    float q = (float)(x / scale);
    if (!(q > least))
        q = least;
    else if (q > most)
        q = most;
    /* 1.5 * 2^23 leaves no bits behind the point: the addition rounds as it does always, to nearest, ties to even. */
    sum.value = (float)(q + 12582912.0f);
    return (int32_t)(sum.bits & 0x7fffffu) - 0x400000 + zero_point;
}

static int32_t as_number(uint8_t byte, uint32_t is_unsigned)
{
    return is_unsigned != 0u || byte < 128u ? (int32_t)byte : (int32_t)byte - 256;
}

typedef struct mover {
    tw_move move;
    uint32_t element_bytes, is_unsigned;
    uint8_t toggle;
    float scale;
    int32_t zero_point;
} mover;

static void move_element(const mover *how, uint8_t *at, uint8_t *array, uint32_t index)
{
    uint8_t *const dense = &array[(size_t)index * how->element_bytes];
    uint8_t *const to = how->move == TW_PUT ? at : dense, *const from = how->move == TW_PUT ? dense : at;
    uint32_t i;
    switch (how->move) {
    case TW_PUT:
    case TW_GET_BYTES:
        for (i = 0; i < how->element_bytes; i++)
            to[i] = (uint8_t)(from[i] ^ how->toggle);
        break;
    case TW_QUANTISE: {
        const float x = ((const float *)(const void *)array)[index];
        const int32_t q = quantised(x, how->scale, how->zero_point, how->is_unsigned != 0u ? 0 : -128);
        *at = (uint8_t)(((uint32_t)q & 0xffu) ^ how->toggle);
        break;
    }
    default: {
        const int32_t q = as_number((uint8_t)(*at ^ how->toggle), how->is_unsigned) - how->zero_point;
        ((float *)(void *)array)[index] = (float)q * how->scale;
        break;
    }
    }
}

void tw_transfer(const tw_network *network, uint32_t set, const tw_tensor *tensor, tw_move move, uint8_t *array, float scale,
                 int32_t zero_point)
{
    const tw_program *program = &network->program;
    const tw_port *port = &network->devices[0]->port;
    const uint32_t sizes = program->first[TW_PART_SIZES] + tensor->first_size, strides = sizes + tensor->dimensions;
    const uint32_t inner = tensor->dimensions > 0u ? tw_word(program, strides - 1u) : 1u;
    const uint32_t stride = tensor->dimensions > 0u ? tw_word(program, strides + tensor->dimensions - 1u) : 0u;
    uint8_t *base = (uint8_t *)network->place.region[set][tensor->region].cpu + tensor->offset;
    const uint32_t extent = (uint32_t)tw_extent(program, tensor);
    uint32_t first, i;
    mover how;
    how.move = move;
    how.element_bytes = tensor->element_bytes;
    how.is_unsigned = tensor->kind;
    how.toggle = tensor->flipped != 0u ? 0x80u : 0u;
    how.scale = scale;
    how.zero_point = zero_point;
    /* Also before writing: a line may hold neighbours that the machine has written since the processor read them. */
    if (port->invalidate != NULL)
        port->invalidate(port->context, base, extent);
    for (first = 0; first < tensor->elements; first += inner) {
        uint32_t rest = first / inner, d;
        size_t offset = 0u;
        for (d = tensor->dimensions; d > 1u; d--) {
            const uint32_t size = tw_word(program, sizes + d - 2u);
            offset += (size_t)(rest % size) * tw_word(program, strides + d - 2u);
            rest /= size;
        }
        for (i = 0; i < inner; i++)
            move_element(&how, &base[offset + (size_t)i * stride], array, first + i);
    }
    if ((move == TW_PUT || move == TW_QUANTISE) && port->clean != NULL)
        port->clean(port->context, base, extent);
}

/* The tensor as the network's program has it, in DRAM, and an array that is large enough. */
static tw_result checked(const tw_network *network, uint32_t set, const tw_tensor *tensor, tw_move move, const void *data,
                         uint32_t bytes)
{
    const uint32_t real = move == TW_QUANTISE || move == TW_DEQUANTISE;
    tw_tensor known;
    if (network == NULL || tensor == NULL || data == NULL || network->cores == 0u)
        return TW_NULL_POINTER;
    if (set >= network->place.sets || tensor->number >= tw_tensor_count(&network->program))
        return TW_ARGUMENT;
    tw_get_tensor(&network->program, tensor->number, &known);
    if (known.name != tensor->name || known.region == TW_REGION_HOST || (real && !tw_is_byte(&known)))
        return TW_ARGUMENT; /* of another program, or nowhere in DRAM */
    if (real && ((uintptr_t)data & 3u) != 0u)
        return TW_MISALIGNED;
    if (known.elements > bytes / (real ? 4u : known.element_bytes))
        return TW_TOO_SMALL;
    tw_transfer(network, set, &known, move, (uint8_t *)(uintptr_t)data, known.scale, known.zero_point);
    return TW_OK;
}

tw_result tw_write(const tw_network *network, uint32_t set, const tw_tensor *tensor, const void *data, uint32_t bytes)
{
    return checked(network, set, tensor, TW_PUT, data, bytes);
}

tw_result tw_read(const tw_network *network, uint32_t set, const tw_tensor *tensor, void *data, uint32_t bytes)
{
    return checked(network, set, tensor, TW_GET_BYTES, data, bytes);
}

tw_result tw_write_real(const tw_network *network, uint32_t set, const tw_tensor *tensor, const float *data, uint32_t bytes)
{
    return checked(network, set, tensor, TW_QUANTISE, data, bytes);
}

tw_result tw_read_real(const tw_network *network, uint32_t set, const tw_tensor *tensor, float *data, uint32_t bytes)
{
    return checked(network, set, tensor, TW_DEQUANTISE, data, bytes);
}
