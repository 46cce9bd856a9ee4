/* Words: as they lie in bytes, of the table, their checksum and their sums. All files of the driver build on this one. */
#include "tw_internal.h"

uint32_t tw_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | ((uint32_t)at[1] << 8) | ((uint32_t)at[2] << 16) | ((uint32_t)at[3] << 24);
}

uint32_t tw_word(const tw_program *program, uint32_t word)
{
    return tw_u32(&program->table[(size_t)word * 4u]);
}

float tw_real(uint32_t bits)
{
    union {
        uint32_t bits;
        float value;
    } both;
    both.bits = bits;
    return both.value;
}

uint32_t tw_crc32(uint32_t before, const uint8_t *bytes, uint32_t count)
{
    static const uint32_t nibbles[16] = {
        0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u, 0x4db26158u, 0x5005713cu,
        0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu, 0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu,
    };
    uint32_t crc = before ^ 0xffffffffu;
    uint32_t i;
    for (i = 0; i < count; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ nibbles[crc & 15u];
        crc = (crc >> 4) ^ nibbles[crc & 15u];
    }
    return crc ^ 0xffffffffu;
}

uint32_t tw_sum(uint32_t a, uint32_t b)
{
    return b > 0xffffffffu - a ? 0xffffffffu : a + b;
}

uint32_t tw_padded(uint32_t bytes)
{
    const uint32_t sum = tw_sum(bytes, TW_BEAT_MAX - 1u);
    return sum == 0xffffffffu ? sum : sum & ~(TW_BEAT_MAX - 1u);
}
