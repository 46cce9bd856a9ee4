/* Names and meanings of what the driver and the machine say. */
#include "tw_internal.h"

#ifdef TW_NO_TEXT
#define TEXT_(text) ""
#else
#define TEXT_(text) text
#endif

static const char *one_of(const char *const *strings, uint32_t count, uint32_t index)
{
    return index < count ? strings[index] : "unknown";
}

const char *tw_result_name(tw_result result)
{
#define NAME_(name, text) #name,
    static const char *const names[] = {TW_RESULT_LIST(NAME_)};
    return one_of(names, (uint32_t)TW_RESULTS, (uint32_t)result);
}

const char *tw_result_text(tw_result result)
{
#define MEANING_(name, text) TEXT_(text),
    static const char *const texts[] = {TW_RESULT_LIST(MEANING_)};
    return one_of(texts, (uint32_t)TW_RESULTS, (uint32_t)result);
}

const char *tw_fault_name(uint32_t code)
{
    static const char *const names[] = {TW_FAULT_LIST(NAME_)};
    return one_of(names, (uint32_t)(sizeof names / sizeof names[0]), code);
}

const char *tw_fault_text(uint32_t code)
{
    static const char *const texts[] = {TW_FAULT_LIST(MEANING_)};
    return one_of(texts, (uint32_t)(sizeof texts / sizeof texts[0]), code);
}

const char *tw_unit_name(uint32_t unit)
{
    static const char *const names[] = {TW_UNIT_LIST(NAME_)};
    return one_of(names, TW_UNITS, unit);
}

const char *tw_counter_name(uint32_t counter)
{
    static const char *const names[] = {TW_COUNTER_LIST(NAME_)};
    return one_of(names, TW_COUNTERS, counter);
}
