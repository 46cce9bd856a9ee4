/* A walk through a serialised ONNX model, message by message, to every tensor. */
#include "tw_model.h"

#include <stddef.h>

enum { VARINT = 0, EIGHT_BYTES = 1, MESSAGE = 2, FOUR_BYTES = 5 };
enum { EXTERNAL_DATA = 13, DATA_LOCATION = 14 };
enum { DEEPEST = 100 }; /* messages within each other, as protobuf allows them; a graph within a graph is three of them */

typedef enum kind { NOTHING, MODEL, TRAINING, FUNCTION, GRAPH, NODE, ATTRIBUTE, SPARSE, TENSOR } kind;

/* Which fields of which messages lead to tensors. */
static const struct {
    kind from;
    uint32_t field;
    kind to;
} WAYS[] = {
    {MODEL, 7, GRAPH}, {MODEL, 20, TRAINING}, {MODEL, 25, FUNCTION}, {TRAINING, 1, GRAPH}, {TRAINING, 2, GRAPH},
    {FUNCTION, 7, NODE}, {FUNCTION, 11, ATTRIBUTE}, {GRAPH, 1, NODE}, {GRAPH, 5, TENSOR}, {GRAPH, 15, SPARSE},
    {NODE, 5, ATTRIBUTE}, {ATTRIBUTE, 5, TENSOR}, {ATTRIBUTE, 6, GRAPH}, {ATTRIBUTE, 10, TENSOR}, {ATTRIBUTE, 11, GRAPH},
    {ATTRIBUTE, 22, SPARSE}, {ATTRIBUTE, 23, SPARSE}, {SPARSE, 1, TENSOR}, {SPARSE, 2, TENSOR},
};

typedef struct message {
    kind kind;
    uint32_t at, end; /* bytes of the model that are still to be looked at */
} message;

/* The number at a message's place, which moves behind it; 0 if there is none. */
static uint32_t read_number(const uint8_t *model, message *in, uint64_t *number)
{
    uint32_t shift;
    *number = 0u;
    for (shift = 0u; shift < 70u && in->at < in->end; shift += 7u) {
        const uint8_t byte = model[in->at++];
        if (shift < 64u)
            *number |= (uint64_t)(byte & 0x7fu) << shift;
        if (byte < 0x80u)
            return 1u;
    }
    return 0u;
}

static kind kind_of(kind from, uint64_t field)
{
    uint32_t i;
    for (i = 0; i < sizeof WAYS / sizeof WAYS[0]; i++)
        if (WAYS[i].from == from && WAYS[i].field == field)
            return WAYS[i].to;
    return NOTHING;
}

/* The next field of `in`, which moves behind it. `inner` is the message that it holds, if that leads to tensors. 0: refused. */
static uint32_t take_field(const uint8_t *model, message *in, message *inner)
{
    uint64_t tag, number;
    inner->kind = NOTHING;
    if (!read_number(model, in, &tag) || tag > 0xffffffffu)
        return 0u;
    switch (tag & 7u) {
    case VARINT:
        return read_number(model, in, &number) && !(in->kind == TENSOR && tag >> 3 == DATA_LOCATION && number != 0u);
    case EIGHT_BYTES:
    case FOUR_BYTES:
        number = (tag & 7u) == EIGHT_BYTES ? 8u : 4u;
        break;
    case MESSAGE:
        if (!read_number(model, in, &number) || (in->kind == TENSOR && tag >> 3 == EXTERNAL_DATA))
            return 0u;
        inner->kind = kind_of(in->kind, tag >> 3);
        break;
    default:
        return 0u;
    }
    if (number > in->end - in->at)
        return 0u;
    inner->at = in->at;
    in->at += (uint32_t)number;
    inner->end = in->at;
    return 1u;
}

uint32_t tw_model_is_whole(const uint8_t *model, uint32_t bytes)
{
    message stack[DEEPEST], inner;
    uint32_t depth = 1u;
    if (model == NULL || bytes == 0u)
        return 0u;
    if (bytes >= 8u && model[4] == 'O' && model[5] == 'R' && model[6] == 'T' && model[7] == 'M')
        return 0u;
    stack[0].kind = MODEL;
    stack[0].at = 0u;
    stack[0].end = bytes;
    while (depth > 0u) {
        message *top = &stack[depth - 1u];
        if (top->at == top->end) {
            depth--;
            continue;
        }
        if (!take_field(model, top, &inner))
            return 0u;
        if (inner.kind != NOTHING) {
            if (depth == (uint32_t)DEEPEST)
                return 0u;
            stack[depth++] = inner;
        }
    }
    return 1u;
}
