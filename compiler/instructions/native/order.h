// Program order by list scheduling: order.py.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "hazards.h"

namespace schedule {

constexpr i64 NEVER = std::numeric_limits<i64>::max();

inline i64 taken(const Program &program, i64 index) { return std::max<i64>(1, program.cycles[index]); }

// When the first instruction that needs each would start if units took theirs in program order, and loads no time.
inline std::vector<i64> due_of(const Program &program, const std::vector<Hazards> &found) {
    i64 free[UNITS] = {};
    std::vector<i64> ends(at(program.count), 0), due(at(program.count), NEVER);
    for (i64 index = 0; index < program.count; index++) {
        i64 unit = program.units[index], start = unit == LOAD ? 0 : free[unit];
        for (i64 giver : found[at(index)].before) start = std::max(start, ends[at(giver)]);
        if (unit == LOAD) {
            ends[at(index)] = start;
            continue;
        }
        for (i64 giver : found[at(index)].before) due[at(giver)] = std::min(due[at(giver)], start);
        free[unit] = start + taken(program, index);
        ends[at(index)] = free[unit] + UNTIL_TAKEN[unit];
    }
    for (i64 index = program.count - 1; index >= 0; index--)
        if (program.units[index] == LOAD)
            for (i64 giver : found[at(index)].before) due[at(giver)] = std::min(due[at(giver)], due[at(index)]);
    return due;
}

// What is left of one unit's instructions, in the order in which they should come.
struct Lane {
    std::vector<i64> indices;
    i64 free = 0, first = 0;
    // Places of those whose predecessors are all scheduled, in order.
    std::vector<i64> ready;

    void insert(i64 place) { ready.insert(std::lower_bound(ready.begin(), ready.end(), place), place); }
    void remove(i64 place) { ready.erase(std::lower_bound(ready.begin(), ready.end(), place)); }
};

class Order {
  public:
    Order(const Program &program, const std::vector<Hazards> &found)
        : program_(program), found_(found), place_(at(program.count)), earliest_(at(program.count), 0) {}

    std::vector<i64> order;

    // Cycles until all units are done.
    i64 find() {
        open_lanes();
        std::vector<std::vector<i64>> after(at(program_.count));
        std::vector<i64> waiting(at(program_.count));
        std::vector<bool> done(at(program_.count), false);
        for (i64 index = 0; index < program_.count; index++) {
            const std::vector<i64> &before = found_[at(index)].before;
            waiting[at(index)] = static_cast<i64>(before.size());
            for (i64 giver : before) after[at(giver)].push_back(index);
            if (before.empty()) lanes_[program_.units[index]].insert(place_[at(index)]);
        }
        std::optional<std::pair<i64, i64>> best[UNITS];
        bool changed[UNITS];
        std::fill(changed, changed + UNITS, true);
        while (static_cast<i64>(order.size()) < program_.count) {
            for (i64 unit = 0; unit < UNITS; unit++)
                if (changed[unit]) best[unit] = candidate(lanes_[unit]);
            std::fill(changed, changed + UNITS, false);
            std::pair<i64, i64> first{NEVER, NEVER};
            for (const auto &each : best)
                if (each) first = std::min(first, *each);
            auto [start, index] = first;
            i64 unit = program_.units[index];
            Lane &lane = lanes_[unit];
            lane.remove(place_[at(index)]);
            lane.free = start + taken(program_, index);
            order.push_back(index);
            done[at(index)] = true;
            while (at(lane.first) < lane.indices.size() && done[at(lane.indices[at(lane.first)])]) lane.first++;
            changed[unit] = true;
            for (i64 taker : after[at(index)]) {
                i64 own = program_.units[taker];
                bool at_once = own == unit && (unit == LOAD || unit == SAVE);
                i64 then = at_once ? lane.free : lane.free + UNTIL_TAKEN[unit];
                earliest_[at(taker)] = std::max(earliest_[at(taker)], then);
                if (--waiting[at(taker)] > 0) continue;
                lanes_[own].insert(place_[at(taker)]);
                changed[own] = true;
            }
        }
        i64 cycles = 0;
        for (const Lane &lane : lanes_) cycles = std::max(cycles, lane.free);
        return cycles;
    }

  private:
    const Program &program_;
    const std::vector<Hazards> &found_;
    Lane lanes_[UNITS];
    std::vector<i64> place_, earliest_;

    void open_lanes() {
        std::vector<i64> due = due_of(program_, found_);
        for (i64 index = 0; index < program_.count; index++) lanes_[program_.units[index]].indices.push_back(index);
        std::vector<i64> &loads = lanes_[LOAD].indices;
        auto key = [&](i64 index) { return std::pair(due[at(index)], program_.parameters[index] == 0); };
        std::stable_sort(loads.begin(), loads.end(), [&](i64 a, i64 b) { return key(a) < key(b); });
        for (const Lane &lane : lanes_)
            for (std::size_t number = 0; number < lane.indices.size(); number++)
                place_[at(lane.indices[number])] = static_cast<i64>(number);
    }

    // Start and index of the instruction that the unit would take next.
    std::optional<std::pair<i64, i64>> candidate(const Lane &lane) const {
        std::optional<std::pair<i64, i64>> found;
        for (i64 place : lane.ready) {
            if (place > lane.first + WINDOW) break;
            i64 index = lane.indices[at(place)], start = std::max(lane.free, earliest_[at(index)]);
            if (!found || start + taken(program_, index) <= found->first) found = {start, index};
            if (found->first == lane.free) break;
        }
        return found;
    }
};

}  // namespace schedule
