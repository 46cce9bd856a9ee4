// Order and tokens of a program as a library: engine.py loads it. What it finds is what the Python finds.
#include <exception>

#include "hazards.h"
#include "order.h"
#include "tokens.h"

// Places, waits and signals of all instructions, in this order; false if something is wrong with the program, or there is no
// memory.
extern "C" bool tilewright_schedule(const schedule::Program *program, std::int64_t *found, std::int64_t *cycles) {
    try {
        std::vector<schedule::Hazards> hazards;
        if (!schedule::Finder(*program).find(hazards)) return false;
        schedule::Order order(*program, hazards);
        *cycles = order.find();
        std::copy(order.order.begin(), order.order.end(), found);
        return schedule::find_tokens(*program, hazards, order.order, found + program->count, found + 2 * program->count);
    } catch (const std::exception &) {
        return false;
    }
}
