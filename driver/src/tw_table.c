/* The table of a program: its entries by number, and the proof that they can be relied on. */
#include "tw_internal.h"

enum { TW_INFINITY_BITS = 0x7f800000 }; /* of a float32; positive numbers have fewer, and zero has none */

uint32_t tw_is_open(const tw_program *program)
{
    return program != NULL && program->table != NULL;
}

static const char *name_at(const tw_program *program, uint32_t place)
{
    return (const char *)&program->table[(size_t)program->first[TW_PART_NAMES] * 4u + place];
}

/* Words of the table, from one on. */
static void get_words(const tw_program *program, uint32_t first, uint32_t *words, uint32_t count)
{
    uint32_t i;
    for (i = 0; i < count; i++)
        words[i] = tw_word(program, first + i);
}

void tw_get_tensor(const tw_program *program, uint32_t number, tw_tensor *tensor)
{
    uint32_t words[TW_TENSOR_WORDS];
    get_words(program, program->first[TW_PART_TENSORS] + number * TW_TENSOR_WORDS, words, TW_TENSOR_WORDS);
    tensor->number = number;
    tensor->name = name_at(program, words[0]);
    tensor->region = words[1];
    tensor->offset = words[2];
    tensor->element_bytes = words[3] & 15u;
    tensor->kind = words[3] >> 4;
    tensor->flipped = words[4];
    tensor->elements = words[5];
    tensor->dimensions = words[6];
    tensor->first_size = words[7];
    tensor->scale = tw_real(words[8]);
    tensor->zero_point = (int32_t)words[9];
}

void tw_get_step(const tw_program *program, uint32_t number, tw_step *step)
{
    uint32_t words[TW_STEP_WORDS];
    get_words(program, program->first[TW_PART_STEPS] + number * TW_STEP_WORDS, words, TW_STEP_WORDS);
    step->kind = words[0] & ((1u << TW_STEP_CORE_LSB) - 1u);
    step->core = words[0] >> TW_STEP_CORE_LSB;
    step->first = words[1];
    step->words = words[2];
    step->text = words[3];
    step->name = step->kind == (uint32_t)TW_STEP_CPU ? name_at(program, step->first) : "";
    step->conversion = step->words;
    step->conversions = step->text;
}

void tw_get_conversion(const tw_program *program, uint32_t number, tw_conversion *conversion)
{
    uint32_t words[TW_CONVERSION_WORDS];
    get_words(program, program->first[TW_PART_CONVERSIONS] + number * TW_CONVERSION_WORDS, words, TW_CONVERSION_WORDS);
    conversion->dequantises = words[0];
    conversion->end = words[1];
    conversion->tensor = words[2];
    conversion->scale = tw_real(words[3]);
    conversion->zero_point = (int32_t)words[4];
}

uint32_t tw_is_byte(const tw_tensor *tensor)
{
    return tensor->element_bytes == 1u && tensor->kind <= 1u;
}

uint32_t tw_is_real(const tw_tensor *tensor)
{
    return tensor->element_bytes == 4u && tensor->kind == 2u;
}

/* Of a tensor's sizes, and of its strides behind them; 0 beyond these, and beyond the table, as a tensor of another program may
 * ask for. */
static uint32_t shape_word(const tw_program *program, const tw_tensor *tensor, uint32_t dimension, uint32_t behind)
{
    uint32_t place;
    if (!tw_is_open(program) || tensor == NULL || dimension >= tensor->dimensions)
        return 0u;
    place = tw_sum(tensor->first_size, tw_sum(behind * tensor->dimensions, dimension));
    return place < tw_word(program, TW_TABLE_SIZES) ? tw_word(program, program->first[TW_PART_SIZES] + place) : 0u;
}

uint32_t tw_size(const tw_program *program, const tw_tensor *tensor, uint32_t dimension)
{
    return shape_word(program, tensor, dimension, 0u);
}

uint32_t tw_stride(const tw_program *program, const tw_tensor *tensor, uint32_t dimension)
{
    return shape_word(program, tensor, dimension, 1u);
}

uint64_t tw_extent(const tw_program *program, const tw_tensor *tensor)
{
    uint64_t last = 0u;
    uint32_t i;
    for (i = 0; i < tensor->dimensions && last <= 0xffffffffu; i++)
        last += (uint64_t)(tw_size(program, tensor, i) - 1u) * tw_stride(program, tensor, i);
    return last + tensor->element_bytes;
}

/* The checksum is computed with its own word zero. */
static uint32_t table_checksum(const uint8_t *table, uint32_t bytes)
{
    static const uint8_t zeros[4] = {0u, 0u, 0u, 0u};
    const uint32_t place = TW_TABLE_CHECKSUM * 4u;
    const uint32_t crc = tw_crc32(tw_crc32(0u, table, place), zeros, 4u);
    return tw_crc32(crc, &table[place + 4u], bytes - place - 4u);
}

tw_result tw_check_table(tw_program *program)
{
    static const uint8_t words[TW_PART_NAMES] = {TW_TENSOR_WORDS, 1u, 1u, TW_STEP_WORDS, TW_CONVERSION_WORDS, 1u};
    const uint32_t bytes = tw_word(program, TW_TABLE_TABLE_BYTES);
    uint32_t at = TW_TABLE_WORDS, part;
    if (tw_word(program, TW_TABLE_MAGIC) != TW_TABLE_FIRST_WORD || bytes % 4u != 0u)
        return TW_DAMAGED;
    if (tw_word(program, TW_TABLE_VERSION) != TW_TABLE_FORMAT)
        return TW_FORMAT;
    for (part = 0; part < TW_PART_NAMES; part++) {
        const uint32_t count = tw_word(program, TW_TABLE_TENSORS + part);
        program->first[part] = at;
        if (count > (bytes / 4u - at) / words[part])
            return TW_DAMAGED;
        at += count * words[part];
    }
    program->first[TW_PART_NAMES] = at;
    if (bytes - at * 4u != tw_word(program, TW_TABLE_NAMES_BYTES)
        || table_checksum(program->table, bytes) != tw_word(program, TW_TABLE_CHECKSUM))
        return TW_DAMAGED;
    return tw_word(program, TW_TABLE_ISA_VERSION) == TW_ISA_VERSION ? TW_OK : TW_VERSION;
}

static uint32_t is_name_place(const tw_program *program, uint32_t place)
{
    return place < tw_word(program, TW_TABLE_NAMES_BYTES);
}

/* Of a tensor of bytes: at that word a scale that is a positive number, behind it a zero-point that is a byte of its kind. */
static uint32_t is_good_scale(const tw_program *program, const tw_tensor *byte, uint32_t word)
{
    return tw_word(program, word) - 1u < TW_INFINITY_BITS - 1u
        && tw_word(program, word + 1u) + (byte->kind == 1u ? 0u : 128u) <= 255u;
}

/* Sizes are the next ones of the table, and multiply to the elements; none of these lies outside of the region, nor do they lie
 * in each other's place. What is read element by element has few dimensions. */
static uint32_t is_good_shape(const tw_program *program, const tw_tensor *tensor, uint32_t first_size)
{
    const uint32_t sizes = tw_word(program, TW_TABLE_SIZES);
    uint64_t elements = 1u, extent;
    uint32_t i;
    if (tensor->first_size != first_size || tensor->dimensions > (sizes - first_size) / 2u)
        return 0u;
    for (i = 0; i < tensor->dimensions && elements <= 0xffffffffu; i++)
        elements *= tw_size(program, tensor, i);
    if (elements != tensor->elements)
        return 0u;
    if (tensor->region == TW_REGION_HOST)
        return (uint64_t)tensor->elements * tensor->element_bytes <= 0xffffffffu;
    if (elements == 0u || tensor->dimensions > TW_MOST_DIMENSIONS)
        return 0u;
    extent = tw_extent(program, tensor);
    return elements * tensor->element_bytes <= extent && tensor->offset <= tw_region_bytes(program, tensor->region)
        && extent <= tw_region_bytes(program, tensor->region) - tensor->offset;
}

/* `first_size` moves behind its sizes. */
static uint32_t is_good_tensor(const tw_program *program, uint32_t number, uint32_t *first_size)
{
    const uint32_t first = *first_size, at = program->first[TW_PART_TENSORS] + number * TW_TENSOR_WORDS;
    tw_tensor tensor;
    tw_get_tensor(program, number, &tensor);
    *first_size += 2u * tensor.dimensions;
    if (!is_name_place(program, tw_word(program, at)))
        return 0u;
    if (tensor.region != TW_REGION_HOST
        && (tensor.region - 1u >= TW_REGIONS - 1u /* CONST is none */ || tensor.element_bytes - 1u >= 8u))
        return 0u;
    if (tw_is_byte(&tensor) ? tensor.flipped > 1u || !is_good_scale(program, &tensor, at + 8u) : tensor.flipped != 0u)
        return 0u;
    return is_good_shape(program, &tensor, first);
}

static uint32_t is_good_conversion(const tw_program *program, uint32_t number)
{
    tw_conversion conversion;
    tw_tensor host, byte;
    uint32_t list, scale = program->first[TW_PART_CONVERSIONS] + number * TW_CONVERSION_WORDS + 3u;
    tw_get_conversion(program, number, &conversion);
    list = conversion.dequantises != 0u ? TW_PART_OUTPUTS : TW_PART_INPUTS;
    if (conversion.dequantises > 1u || conversion.end >= tw_word(program, TW_TABLE_TENSORS + list)
        || conversion.tensor >= tw_word(program, TW_TABLE_TENSORS))
        return 0u;
    tw_get_tensor(program, tw_word(program, program->first[list] + conversion.end), &host);
    tw_get_tensor(program, conversion.tensor, &byte);
    return host.region == TW_REGION_HOST && tw_is_real(&host) && byte.region != TW_REGION_HOST && tw_is_byte(&byte)
        && host.elements == byte.elements && is_good_scale(program, &byte, scale);
}

/* `conversion` is the next one of the table, and moves behind those of the step. The program has the step's core. */
static uint32_t is_good_step(tw_program *program, uint32_t number, uint32_t *conversion)
{
    const uint32_t text = tw_word(program, TW_TABLE_TEXT_BYTES), first = *conversion;
    tw_step step;
    tw_get_step(program, number, &step);
    if (step.core >= program->cores)
        program->cores = step.core + 1u;
    if (step.kind == (uint32_t)TW_STEP_MACHINE)
        return step.core < TW_CORES_MOST && step.words > 0u && step.text % 4u == 0u && step.text <= text
            && step.words <= (text - step.text) / 4u;
    *conversion += step.conversions;
    return step.kind == (uint32_t)TW_STEP_CPU && step.core == 0u && is_name_place(program, step.first)
        && step.conversion == first && step.conversions <= tw_word(program, TW_TABLE_CONVERSIONS) - first;
}

tw_result tw_check_entries(tw_program *program)
{
    const uint32_t tensors = tw_word(program, TW_TABLE_TENSORS), names = tw_word(program, TW_TABLE_NAMES_BYTES);
    const uint32_t beat = tw_word(program, TW_TABLE_AXI_BYTES);
    const uint8_t *name = &program->table[(size_t)program->first[TW_PART_NAMES] * 4u];
    uint32_t good = beat >= 4u && beat <= TW_BEAT_MAX && (beat & (beat - 1u)) == 0u;
    uint32_t i, next = 0u;
    program->cores = 1u;
    good = good && tw_word(program, TW_TABLE_TEXT_BYTES) % 4u == 0u && (names == 0u || name[names - 1u] == 0u);
    for (i = 0; good && i < tensors; i++)
        good = is_good_tensor(program, i, &next);
    for (i = program->first[TW_PART_INPUTS]; good && i < program->first[TW_PART_STEPS]; i++)
        good = tw_word(program, i) < tensors;
    for (i = 0; good && i < tw_word(program, TW_TABLE_CONVERSIONS); i++)
        good = is_good_conversion(program, i);
    for (i = 0, next = 0u; good && i < tw_word(program, TW_TABLE_STEPS); i++)
        good = is_good_step(program, i, &next);
    return good ? TW_OK : TW_DAMAGED;
}

uint32_t tw_region_bytes(const tw_program *program, uint32_t region)
{
    return tw_is_open(program) && region < TW_REGIONS ? tw_word(program, TW_TABLE_CONST_BYTES + region) : 0u;
}

/* Entries of a part of the table. */
static uint32_t count_of(const tw_program *program, uint32_t part)
{
    return tw_is_open(program) ? tw_word(program, TW_TABLE_TENSORS + part) : 0u;
}

uint32_t tw_tensor_count(const tw_program *program)
{
    return count_of(program, TW_PART_TENSORS);
}

uint32_t tw_input_count(const tw_program *program)
{
    return count_of(program, TW_PART_INPUTS);
}

uint32_t tw_output_count(const tw_program *program)
{
    return count_of(program, TW_PART_OUTPUTS);
}

/* The tensor that entry `number` of a part is, or whose number it holds. */
static tw_result tensor_of(const tw_program *program, uint32_t part, uint32_t number, tw_tensor *tensor)
{
    if (!tw_is_open(program) || tensor == NULL)
        return TW_NULL_POINTER;
    if (number >= count_of(program, part))
        return TW_ARGUMENT;
    tw_get_tensor(program, part == TW_PART_TENSORS ? number : tw_word(program, program->first[part] + number), tensor);
    return TW_OK;
}

tw_result tw_tensor_at(const tw_program *program, uint32_t number, tw_tensor *tensor)
{
    return tensor_of(program, TW_PART_TENSORS, number, tensor);
}

tw_result tw_input_at(const tw_program *program, uint32_t number, tw_tensor *tensor)
{
    return tensor_of(program, TW_PART_INPUTS, number, tensor);
}

tw_result tw_output_at(const tw_program *program, uint32_t number, tw_tensor *tensor)
{
    return tensor_of(program, TW_PART_OUTPUTS, number, tensor);
}

tw_result tw_find(const tw_program *program, const char *name, tw_tensor *tensor)
{
    uint32_t i, k;
    if (!tw_is_open(program) || name == NULL || tensor == NULL)
        return TW_NULL_POINTER;
    for (i = 0; i < tw_tensor_count(program); i++) {
        tw_get_tensor(program, i, tensor);
        for (k = 0; name[k] != '\0' && name[k] == tensor->name[k]; k++) {
        }
        if (name[k] == tensor->name[k])
            return TW_OK;
    }
    return TW_ARGUMENT;
}
