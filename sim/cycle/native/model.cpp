// The cycle model's execution as a library: engine.py loads it. What it finds is what control.py finds, in every bit.
#include <algorithm>
#include <exception>

#include "control.h"

// Cycles of starts, finishes and waits for tokens of all instructions, in this order; false if a walk could not be made, or
// there is no memory.
extern "C" bool tilewright_run(const cycle::Machine *machine, const cycle::Program *program, const cycle::Cost *table,
                               cycle::Walk::Ask ask, std::int64_t *found) {
    try {
        cycle::Execution execution(*machine, *program, table, ask);
        execution.run();
        for (const cycle::Cycles *each : {&execution.starts, &execution.finishes, &execution.token_waits})
            found = std::copy(each->begin(), each->end(), found);
        return true;
    } catch (const std::exception &) {
        return false;
    }
}
