// Fetch, dispatcher, queues and receivers, and the loop that brings them together with units and DRAM: control.py.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "movers.h"

namespace cycle {

// A program as sim.cycle.program has it, an entry for each instruction; ``givers`` and ``rooms`` have where each one's begin.
struct Program {
    i64 count, words;
    const i64 *units, *pcs, *lengths, *rows, *giver_begins, *givers, *room_begins, *rooms;
};

// By number of an instruction, found as they become known.
using Cycles = std::vector<i64>;

// Whether ROW, which comes last at every bank, is at work.
inline bool has_rows(const Program &program) {
    return std::find(program.units, program.units + program.count, UNITS - 1) != program.units + program.count;
}

// Does a unit that goes before its own want the same bank groups nearby: rivals.py.
inline std::vector<Meets> meetings(const Program &program, const Costs &costs) {
    std::size_t blocks = at(ceil_div(program.count, rivals::NEARBY)) + 2;
    std::array<std::vector<Groups>, UNITS> reads, writes;
    for (auto *each : {&reads, &writes})
        for (auto &of_unit : *each) of_unit.assign(blocks + 1, 0);
    auto block_of = [](i64 index) { return at(index / rivals::NEARBY) + 1; };
    for (i64 index = 0; index < program.count; index++) {
        const Cost &cost = costs.of(index);
        for (i64 later = program.units[index] + 1; program.units[index] >= 0 && later < UNITS; later++) {
            reads[at(later)][block_of(index)] |= static_cast<Groups>(cost.reads | cost.reads_b);
            writes[at(later)][block_of(index)] |= static_cast<Groups>(cost.writes);
        }
    }
    std::vector<Meets> found(at(program.count));
    for (i64 index = 0; index < program.count; index++) {
        if (program.units[index] < 0) continue;
        const Cost &cost = costs.of(index);
        std::size_t block = block_of(index), unit = at(program.units[index]);
        auto nearby = [&](const std::vector<Groups> &of) { return of[block - 1] | of[block] | of[block + 1]; };
        Groups read = static_cast<Groups>(cost.reads | cost.reads_b), written = static_cast<Groups>(cost.writes);
        found[at(index)] = {(read & nearby(reads[unit])) != 0, (written & nearby(writes[unit])) != 0};
    }
    return found;
}

// A unit's queue and receiver.
struct Receiver {
    Pipeline *pipeline;
    std::vector<i64> indices, sizes = {}, ends = {0};
    i64 dispatched = 0, taken = 0;
    std::vector<i64> sent = {}, collects = {0}, offered = {};
    i64 owner = 0, giver = UNKNOWN, tokens = UNKNOWN;

    std::optional<i64> room(i64 capacity, i64 before_last) {
        i64 word = ends[at(dispatched + 1)] - capacity - 1 - before_last;
        if (word < 0) return 0;
        while (ends[at(owner + 1)] <= word) owner++;
        if (at(owner) >= collects.size()) return std::nullopt;
        return collects[at(owner)] + word - ends[at(owner)] + 1;
    }

    void collect() {
        if (at(taken) < offered.size()) return;
        i64 moved = std::max(collects[at(taken)] + sizes[at(taken)], sent[at(taken)] + timing::QUEUE + 1);
        offered.push_back(moved + timing::OFFER);
    }
};

class Execution {
  public:
    Execution(const Machine &machine, const Program &program, const Cost *table, Walk::Ask ask)
        : starts(size(program), UNKNOWN), finishes(size(program), UNKNOWN), token_waits(size(program), 0), machine_(machine),
          program_(program), costs_(table, program.rows, ask), bus_(machine.axi_reads, machine.axi_ports, machine.owed_beats, machine.dram_latency - 1),
          meets_(meetings(program, costs_)),
          load_(costs_, bus_, machine.burst_beats),
          save_(costs_, bus_, machine.burst_beats, machine.axi_ports),
          conv_(costs_, meets_, {&load_, &save_}, machine.conv), pool_(costs_, meets_, {&load_, &save_, &conv_}, machine.pool),
          misc_(costs_, meets_, {&load_, &save_, &conv_, &pool_}, machine, has_rows(program)),
          row_(costs_, meets_, {&load_, &save_, &conv_, &pool_, &misc_}, machine), taken_(size(program), UNKNOWN),
          bursts_(at(ceil_div(program.words, machine.words_per_burst)) + 1, UNKNOWN) {
        if (machine.shares_finish) conv_.lend(pool_, machine.pool.drain_cycles);
        receivers_ = {Receiver{&load_, {}}, {&save_, {}}, {&conv_, {}}, {&pool_, {}}, {&misc_, {}}, {&row_, {}}};
        for (i64 index = 0; index < program.count; index++) {
            if (program.units[index] < 0) continue;
            Receiver &own = receivers_[at(program.units[index])];
            own.indices.push_back(index);
            own.sizes.push_back(program.lengths[index] + 1);  // The pc comes first.
            own.ends.push_back(own.ends.back() + own.sizes.back());
        }
        for (i64 number = 0; number < 2; number++) fetch(number, timing::BEGIN + 2 * number + timing::FETCH_BEGIN);
    }

    Cycles starts, finishes, token_waits;

    // Until nothing moves any more.
    void run() {
        do {
            while (move()) {}
        } while (wait());
    }

  private:
    const Machine &machine_;
    const Program &program_;
    Costs costs_;
    Bus bus_;
    std::vector<Meets> meets_;
    LoadPipeline load_;
    SavePipeline save_;
    WindowPipeline conv_, pool_;
    MiscPipeline misc_;
    RowPipeline row_;
    Cycles taken_, bursts_;
    std::array<Receiver, UNITS> receivers_;
    // Instructions that are done, and when, whose tokens wait for others to be taken at a time not known yet.
    std::vector<std::pair<i64, i64>> unpaid_;
    i64 next_instruction_ = 0, dispatcher_free_ = 0, asked_ = 1;
    // What the dispatcher waits for: a burst, or that a unit takes an instruction, which makes room.
    i64 missing_burst_ = UNKNOWN, missing_taken_ = UNKNOWN;
    const Receiver *missing_receiver_ = nullptr;

    static std::size_t size(const Program &program) { return at(program.count); }

    bool move() {
        bool moved = !stuck() && dispatch();
        if (!unpaid_.empty()) {
            auto unpaid = std::exchange(unpaid_, {});
            for (auto [index, cycle] : unpaid) finish(index, cycle);
            moved |= unpaid_.size() < unpaid.size();
        }
        for (Receiver &receiver : receivers_) {
            while (receiver.taken < receiver.dispatched && (receiver.giver < 0 || finishes[at(receiver.giver)] >= 0)) {
                if (receiver.tokens < 0 && !tokens(receiver)) break;
                std::optional<i64> ready = receiver.pipeline->ready();
                if (!ready || !accept(receiver, *ready)) break;
                moved = true;
            }
        }
        return moved;
    }

    // Go on to the next answer of DRAM, or to the end of work that had to wait for it; false if there is neither.
    bool wait() {
        std::array<Worker *, 4> workers{&conv_, &pool_, &misc_, &row_};
        auto end = std::remove_if(workers.begin(), workers.end(), [](Worker *worker) { return !worker->open(); });
        if (end == workers.begin()) {
            while (bus_.step())
                if (bus_.happened()) return answers();
            return false;
        }
        double followed = 0.0;
        while (true) {
            double until = NEVER;
            for (auto worker = workers.begin(); worker != end; ++worker)
                until = std::min(until, static_cast<double>((*worker)->bound()));
            until = std::max(until, followed + static_cast<double>(control::STRIDE));
            if (bus_.step(until)) {
                if (bus_.happened()) return answers();
                continue;
            }
            followed = until;
            std::vector<Worker *> over;
            std::copy_if(workers.begin(), end, std::back_inserter(over),
                         [&](Worker *worker) { return worker->advance(ceiling(until)); });
            for (Worker *worker : over) {
                auto [index, cycle] = worker->settle();
                finish(index, cycle);
            }
            if (!over.empty()) return true;
        }
    }

    bool answers() {
        for (const auto &[transfer, cycle] : bus_.read_done) {
            i64 done = load_.finished(transfer, cycle);
            if (transfer.last) finish(transfer.index, done);
        }
        for (const auto &[transfer, cycle] : bus_.write_done) finish(transfer.index, save_.finished(transfer, cycle));
        for (auto [number, cycle] : bus_.fetched) bursts_[at(number)] = ceiling(cycle) + timing::FETCH_WORD;
        bus_.read_done.clear();
        bus_.write_done.clear();
        bus_.fetched.clear();
        bus_.watched = false;
        return true;
    }

    // The instruction is done, and gives its tokens: at once, or as soon as so many are taken that there is room.
    void finish(i64 index, i64 cycle) {
        auto same = [&](const auto &other) { return program_.units[other.first] == program_.units[index]; };
        bool held = std::any_of(unpaid_.begin(), unpaid_.end(), same);
        for (i64 n = program_.room_begins[index]; !held && n < program_.room_begins[index + 1]; n++) {
            i64 taken = taken_[at(program_.rooms[n])];
            if (taken == UNKNOWN) held = true;
            else cycle = std::max(cycle, taken + 1);
        }
        if (held) unpaid_.emplace_back(index, cycle);
        else finishes[at(index)] = cycle;
    }

    // Whether it is known when the instruction at the head has its tokens; it is offered in any case.
    bool tokens(Receiver &receiver) {
        receiver.collect();
        i64 index = receiver.indices[at(receiver.taken)], found = 0;
        for (i64 n = program_.giver_begins[index]; n < program_.giver_begins[index + 1]; n++) {
            i64 giver = program_.givers[n], finish = finishes[at(giver)];
            if (finish < 0) {
                receiver.giver = giver;
                return false;
            }
            found = std::max(found, finish + 1);
        }
        receiver.giver = UNKNOWN;
        receiver.tokens = found;
        return true;
    }

    // Let the unit, which is ready, take the instruction at the head, if it is known when it can.
    bool accept(Receiver &receiver, i64 ready) {
        i64 n = receiver.taken, index = receiver.indices[at(n)], offered = receiver.offered[at(n)], tokens = receiver.tokens;
        if (n >= control::IN_FLIGHT) {
            i64 finish = finishes[at(receiver.indices[at(n - control::IN_FLIGHT)])];
            if (finish < 0) return false;
            ready = std::max(ready, finish + 1 + receiver.pipeline->notice);
        }
        receiver.tokens = UNKNOWN;
        if (tokens > offered) token_waits[at(index)] = tokens - offered;
        taken_[at(index)] = std::max(offered, tokens);
        i64 start = std::max(ready, taken_[at(index)] + receiver.pipeline->notice);
        receiver.collects.push_back(start + 1);
        receiver.taken++;
        starts[at(index)] = start;
        if (std::optional<i64> done = receiver.pipeline->accept(index, start)) finish(index, *done);
        return true;
    }

    // What the dispatcher waits for is not there yet.
    bool stuck() const {
        if (missing_burst_ != UNKNOWN) return bursts_[at(missing_burst_)] == UNKNOWN;
        return missing_receiver_ != nullptr && at(missing_taken_) >= missing_receiver_->collects.size();
    }

    void miss(i64 burst) { missing_burst_ = burst; }

    void miss(const Receiver &receiver) {
        missing_burst_ = UNKNOWN, missing_receiver_ = &receiver, missing_taken_ = receiver.owner;
    }

    // Send instructions to their queues as far as fetched words and room are known.
    bool dispatch() {
        bool moved = false;
        i64 burst_words = machine_.words_per_burst;
        while (next_instruction_ < program_.count) {
            i64 index = next_instruction_, length = program_.lengths[index], pc = program_.pcs[index];
            i64 first = pc / burst_words, last = (pc + length - 1) / burst_words;
            if (bursts_[at(first)] == UNKNOWN) {
                miss(first);
                return moved;
            }
            Receiver *receiver = program_.units[index] < 0 ? nullptr : &receivers_[at(program_.units[index])];
            i64 begin = std::max(dispatcher_free_, bursts_[at(first)]);
            // When the instruction has taken the last word of a burst, there is room for the next but one.
            for (i64 burst = std::max(first, asked_ - 1); burst < (pc + length) / burst_words; burst++) {
                std::optional<i64> taken = sent(index, receiver, begin, pc + length - (burst + 1) * burst_words, burst);
                if (!taken) return moved;
                asked_ = burst + 2;
                fetch(burst + 2, *taken + timing::FETCH_ADDRESS);
            }
            std::optional<i64> end = sent(index, receiver, begin, 0, last);
            if (!end) return moved;
            if (receiver != nullptr) {
                receiver->sent.push_back(*end);
                receiver->dispatched++;
            } else {
                starts[at(index)] = finishes[at(index)] = *end;
            }
            dispatcher_free_ = *end + 1;
            next_instruction_++;
            moved = true;
        }
        return moved;
    }

    // When all words of the instruction but the last ``behind`` are in the queue, which lie in bursts up to ``last``.
    std::optional<i64> sent(i64 index, Receiver *receiver, i64 begin, i64 behind, i64 last) {
        i64 pc = program_.pcs[index], taken = program_.lengths[index] - behind, burst_words = machine_.words_per_burst;
        // A word more waits in the dispatcher's register.
        std::optional<i64> room = receiver == nullptr ? 0 : receiver->room(machine_.queue_words + 1, behind);
        if (!room) {
            miss(*receiver);
            return std::nullopt;
        }
        i64 end = std::max(begin + taken, *room);
        for (i64 burst = pc / burst_words + 1; burst <= last; burst++) {
            if (bursts_[at(burst)] == UNKNOWN) {
                miss(burst);
                return std::nullopt;
            }
            end = std::max(end, bursts_[at(burst)] + pc + taken - burst * burst_words - 1);
        }
        return end;
    }

    void fetch(i64 number, i64 asked) {
        i64 words = std::min(machine_.words_per_burst, program_.words - number * machine_.words_per_burst);
        if (words > 0) bus_.fetch(number, ceil_div(words, machine_.beat_words), asked);
    }
};

}  // namespace cycle
