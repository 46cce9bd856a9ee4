// The fewest tokens that keep every dependence: tokens.py.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "hazards.h"

namespace schedule {

// Masks of units, by place in the order; false if counters do not hold all tokens.
inline bool find_tokens(const Program &program, const std::vector<Hazards> &found, const std::vector<i64> &order,
                        i64 *waits, i64 *signals) {
    using Clock = std::array<i64, UNITS>;
    Clock nothing;
    nothing.fill(-1);
    std::vector<i64> place(order.size());
    for (std::size_t number = 0; number < order.size(); number++) place[at(order[number])] = static_cast<i64>(number);
    std::vector<Clock> started;
    std::array<Clock, UNITS> latest;
    latest.fill(nothing);
    std::fill(waits, waits + order.size(), 0);
    std::fill(signals, signals + order.size(), 0);
    for (i64 index : order) {
        i64 unit = program.units[index];
        // The last of a unit stands for all before it, for units finish in order.
        Clock needed = nothing, clock = latest[at(unit)];
        for (i64 other : found[at(index)].finished) {
            i64 &last = needed[at(program.units[other])];
            last = std::max(last, place[at(other)]);
        }
        std::array<std::pair<i64, i64>, UNITS> givers;
        for (i64 giver = 0; giver < UNITS; giver++) givers[at(giver)] = {-needed[at(giver)], giver};
        std::sort(givers.begin(), givers.end());
        for (auto [minus, giver] : givers) {
            if (-minus <= clock[at(giver)]) continue;
            waits[started.size()] |= i64{1} << giver;
            signals[-minus] |= i64{1} << unit;
            for (std::size_t other = 0; other < clock.size(); other++)
                clock[other] = std::max(clock[other], started[at(-minus)][other]);
            clock[at(giver)] = std::max(clock[at(giver)], -minus);
        }
        started.push_back(clock);
        latest[at(unit)] = clock;
    }
    i64 counts[UNITS][UNITS] = {};
    for (std::size_t number = 0; number < order.size(); number++) {
        i64 unit = program.units[order[number]];
        for (i64 other = 0; other < UNITS; other++)
            if (waits[number] >> other & 1) counts[other][unit]--;
        for (i64 other = 0; other < UNITS; other++)
            if ((signals[number] >> other & 1) && ++counts[unit][other] > TOKEN_MAX) return false;
    }
    return true;
}

}  // namespace schedule
