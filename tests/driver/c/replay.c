#include "replay.h"

#include "harness.h"

static uint8_t *content;
static uint32_t bytes, at, parts;

static const uint8_t *take(uint32_t count)
{
    CHECK(count <= bytes - at);
    at += count;
    return &content[at - count];
}

static uint32_t take_number(void)
{
    return header_word(take(4u), 0u);
}

static const char *take_name(void)
{
    const char *name = (const char *)&content[at];
    while (*take(1u) != 0u) {
    }
    return name;
}

void replay_open(const char *path)
{
    content = read_file(path, &bytes);
}

uint32_t replay_close(void)
{
    CHECK(at == bytes);
    free(content);
    return parts;
}

/* The caller's array of an input or output that is no buffer. */
static const tw_array *array_of(const tw_run *run, const tw_tensor *tensor)
{
    const tw_program *program = &run->network->program;
    tw_tensor other;
    uint32_t i;
    for (i = 0; i < tw_input_count(program); i++)
        if (tw_input_at(program, i, &other) == TW_OK && other.number == tensor->number)
            return &run->inputs[i];
    for (i = 0; i < tw_output_count(program); i++)
        if (tw_output_at(program, i, &other) == TW_OK && other.number == tensor->number)
            return &run->outputs[i];
    printf("%s: neither input nor output\n", tensor->name);
    exit(1);
}

static void take_input(const tw_run *run, const tw_tensor *tensor, const uint8_t *recorded, uint32_t count)
{
    uint8_t *found = malloc(count);
    CHECK(found != NULL);
    if (tensor->region == TW_REGION_HOST)
        memcpy(found, array_of(run, tensor)->data, count);
    else
        EXPECT(TW_OK, tw_read(run->network, run->set, tensor, found, count));
    CHECK(memcmp(found, recorded, count) == 0);
    free(found);
}

static void give_output(const tw_run *run, const tw_tensor *tensor, const uint8_t *recorded, uint32_t count)
{
    if (tensor->region == TW_REGION_HOST)
        memcpy(array_of(run, tensor)->data, recorded, count);
    else
        EXPECT(TW_OK, tw_write(run->network, run->set, tensor, recorded, count));
}

tw_result replay_part(void *context, tw_run *run, const char *name)
{
    uint32_t tensors;
    tw_tensor tensor;
    (void)context;
    CHECK(strcmp(take_name(), name) == 0);
    for (tensors = take_number(); tensors > 0u; tensors--) {
        const uint32_t is_output = take_number();
        const char *title = take_name();
        const uint32_t count = take_number();
        const uint8_t *recorded = take(count);
        EXPECT(TW_OK, tw_find(&run->network->program, title, &tensor));
        CHECK(count == tensor.elements * tensor.element_bytes);
        (is_output != 0u ? give_output : take_input)(run, &tensor, recorded, count);
    }
    parts++;
    return TW_OK;
}
