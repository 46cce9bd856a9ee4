/* Images of programs: found in their containers, and their parts by number. */
#include "tw_internal.h"

enum { ELF_HEADER = 64, ELF_SECTION = 64, FLAT_HEADER = 32 };

static uint32_t u16(const uint8_t *at)
{
    return (uint32_t)at[0] | ((uint32_t)at[1] << 8);
}

/* A number of 64 bits; what does not fit into 32 is more than any image has. */
static uint32_t u64(const uint8_t *at)
{
    return tw_u32(&at[4]) != 0u ? 0xffffffffu : tw_u32(at);
}

static uint32_t inside(uint32_t start, uint32_t length, uint32_t bytes)
{
    return start <= bytes && length <= bytes - start;
}

/* Whether CONST shares a byte with these. In place, the machine sees CONST as memory of the program: nothing that the driver
 * reads later may lie there. */
static uint32_t is_in_constants(const tw_program *program, const uint8_t *start, uint32_t length)
{
    return start + length > program->constants && start < program->constants + tw_word(program, TW_TABLE_CONST_BYTES);
}

static tw_result open_flat(tw_program *program)
{
    const uint8_t *image = program->image;
    const uint32_t table = tw_u32(&image[12]);
    if (tw_u32(&image[4]) != TW_FLAT_VERSION)
        return TW_FORMAT;
    if (tw_u32(&image[8]) > program->bytes)
        return TW_SHORT_IMAGE;
    if (!inside(table, tw_u32(&image[16]), program->bytes) || tw_u32(&image[16]) < TW_TABLE_WORDS * 4u)
        return TW_DAMAGED;
    program->table = &image[table];
    if (tw_word(program, TW_TABLE_TABLE_BYTES) != tw_u32(&image[16])
        || !inside(tw_u32(&image[20]), tw_word(program, TW_TABLE_TEXT_BYTES), program->bytes)
        || !inside(tw_u32(&image[24]), tw_word(program, TW_TABLE_CONST_BYTES), program->bytes))
        return TW_DAMAGED;
    program->text = &image[tw_u32(&image[20])];
    program->constants = &image[tw_u32(&image[24])];
    return TW_OK;
}

/* Whether the bytes at `start` of the table of names are this one, with its end. */
static uint32_t is_name(const uint8_t *names, uint32_t count, uint32_t start, const char *name)
{
    uint32_t i = 0;
    while (start < count && i < count - start && names[start + i] == (uint8_t)name[i]) {
        if (name[i] == '\0')
            return 1u;
        i++;
    }
    return 0u;
}

const uint8_t *tw_section(const tw_program *program, const char *name, uint32_t *length)
{
    const uint8_t *image = program->image;
    const uint32_t headers = u64(&image[40]), count = u16(&image[60]), titles = u16(&image[62]);
    const uint8_t *title = &image[headers + titles * (uint32_t)ELF_SECTION];
    uint32_t i;
    if (!inside(u64(&title[24]), u64(&title[32]), program->bytes))
        return NULL;
    for (i = 0; i < count; i++) {
        const uint8_t *header = &image[headers + i * (uint32_t)ELF_SECTION];
        if (is_name(&image[u64(&title[24])], u64(&title[32]), tw_u32(header), name)) {
            *length = u64(&header[32]);
            return inside(u64(&header[24]), *length, program->bytes) ? &image[u64(&header[24])] : NULL;
        }
    }
    return NULL;
}

static tw_result open_elf(tw_program *program)
{
    const uint8_t *image = program->image;
    uint32_t table = 0, text = 0, constants = 0;
    if (program->bytes < (uint32_t)ELF_HEADER)
        return TW_SHORT_IMAGE;
    if (image[4] != 2u || image[5] != 1u || u16(&image[58]) != (uint32_t)ELF_SECTION || u16(&image[62]) >= u16(&image[60]))
        return TW_NOT_AN_IMAGE;
    if (!inside(u64(&image[40]), u16(&image[60]) * (uint32_t)ELF_SECTION, program->bytes))
        return TW_SHORT_IMAGE;
    program->table = tw_section(program, ".tilewright.host", &table);
    program->text = tw_section(program, ".text", &text);
    program->constants = tw_section(program, ".const", &constants);
    if (program->table == NULL)
        return TW_FORMAT;
    if (program->text == NULL || program->constants == NULL || table < TW_TABLE_WORDS * 4u
        || tw_word(program, TW_TABLE_TABLE_BYTES) != table || tw_word(program, TW_TABLE_TEXT_BYTES) != text
        || tw_word(program, TW_TABLE_CONST_BYTES) != constants
        || is_in_constants(program, &image[u64(&image[40])], u16(&image[60]) * (uint32_t)ELF_SECTION))
        return TW_DAMAGED;
    return TW_OK;
}

tw_result tw_open(tw_program *program, const void *image, uint32_t bytes)
{
    static const uint8_t elf[4] = {0x7fu, 0x45u, 0x4cu, 0x46u};
    tw_program found = {0};
    tw_result result = TW_NOT_AN_IMAGE;
    if (program == NULL || image == NULL)
        return TW_NULL_POINTER;
    found.image = image;
    found.bytes = bytes;
    if (bytes < (uint32_t)FLAT_HEADER)
        return TW_SHORT_IMAGE;
    if (tw_u32(found.image) == TW_FLAT_MAGIC)
        result = open_flat(&found);
    else if (tw_u32(found.image) == tw_u32(elf))
        result = open_elf(&found);
    if (result == TW_OK
        && (is_in_constants(&found, found.image, ELF_HEADER)
            || is_in_constants(&found, found.table, tw_word(&found, TW_TABLE_TABLE_BYTES))
            || is_in_constants(&found, found.text, tw_word(&found, TW_TABLE_TEXT_BYTES))))
        result = TW_DAMAGED;
    if (result == TW_OK)
        result = tw_check_table(&found);
    if (result == TW_OK)
        result = tw_check_entries(&found);
    if (result == TW_OK)
        *program = found;
    return result;
}

tw_result tw_verify(const tw_program *program)
{
    uint32_t text, constants;
    if (!tw_is_open(program))
        return TW_NULL_POINTER;
    text = tw_crc32(0u, program->text, tw_word(program, TW_TABLE_TEXT_BYTES));
    constants = tw_crc32(0u, program->constants, tw_word(program, TW_TABLE_CONST_BYTES));
    if (text != tw_word(program, TW_TABLE_TEXT_CHECKSUM) || constants != tw_word(program, TW_TABLE_CONST_CHECKSUM))
        return TW_DAMAGED;
    return TW_OK;
}
