// CONV, POOL, MISC and ROW as pipelines: units.py.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "contest.h"
#include "layout.h"
#include "passes.h"
#include "words.h"

namespace cycle {

constexpr std::size_t KEPT = units::KEPT;

// Whether an instruction may meet units that go first where it reads, and where it writes.
struct Meets {
    bool reads = false, writes = false;
};

// What all instructions of a program cost, by their index, and the walks of each.
class Costs {
  public:
    Costs(const Cost *table, const i64 *rows, Walk::Ask ask) : table_(table), rows_(rows), ask_(ask) {}

    const Cost &of(i64 index) const { return table_[rows_[index]]; }

    // Made as they are asked for: those of an instruction, so that a trail may point to them.
    Walk *walk(i64 index, i64 number) {
        auto &own = walks_[rows_[index] * WALKS + number];
        if (!own) own = std::make_unique<Walk>(ask_, rows_[index] * WALKS + number);
        return own.get();
    }

  private:
    const Cost *table_;
    const i64 *rows_;
    Walk::Ask ask_;
    std::unordered_map<i64, std::unique_ptr<Walk>> walks_;
};

class Pipeline : public Trails {
  public:
    // Cycles from that in which an instruction is offered to its acceptance, at least.
    i64 notice = 0;

    // The first cycle in which it can accept, if that is known.
    virtual std::optional<i64> ready() = 0;
    // When the instruction is done, if that is known.
    virtual std::optional<i64> accept(i64 index, i64 cycle) = 0;
};

class Worker : public Pipeline {
  public:
    Worker(Costs &costs, const std::vector<Meets> &meets, std::vector<Trails *> rivals)
        : costs_(costs), meets_(meets), rivals_(std::move(rivals)) {}

    bool open() const { return contest() != nullptr; }
    i64 bound() const { return contest()->bound(); }

    // Follow the open work to that cycle; whether it is over.
    bool advance(i64 until) {
        contest()->advance(until, rivals_);
        return contest()->over();
    }

    // Close the open work; the instruction, and when it is done.
    std::pair<i64, i64> settle() {
        i64 finish = close();
        return {index_, finish};
    }

    std::optional<i64> ready() override {
        if (open()) return std::nullopt;
        return next_;
    }

  protected:
    Costs &costs_;
    const std::vector<Meets> &meets_;
    Rivals rivals_;
    i64 next_ = 0, index_ = UNKNOWN;

    virtual Contest *contest() const = 0;
    virtual i64 close() = 0;
    Meets met(i64 index) const { return meets_[at(index)]; }
};

class WindowPipeline final : public Worker {
  public:
    WindowPipeline(Costs &costs, const std::vector<Meets> &meets, std::vector<Trails *> rivals, const Window &window)
        : Worker(costs, meets, std::move(rivals)), window_(window) {}

    void lend(const WindowPipeline &guest, i64 cycles) { guest_ = &guest, guest_cycles_ = cycles; }

    const std::deque<Trail> *left(Side side) const override {
        return side == Side::READS ? &reads_.items() : &writes_.items();
    }

    std::optional<i64> accept(i64 index, i64 cycle) override {
        const Cost &cost = costs_.of(index);
        index_ = index, accepted_ = cycle;
        begin_ = std::max(cycle + timing::RASTER_START + window_.raster_rounds, raster_free_);
        i64 first = std::max(begin_ + timing::RASTER_TO_BEAT, beats_over_);
        spans_.add({first, first + cost.cycles, cost.groups});
        i64 per = cost.drain_cycles;
        i64 lag = timing::READ_TO_BEAT + window_.done - cost.drain_every + cost.drain_words + cost.drain_parts - 1;
        Meets met_here = met(index);
        double late = 0.0, period = static_cast<double>(cost.cycles) / static_cast<double>(cost.groups);
        if (guest_ != nullptr && !cost.stores) late = std::max(late, static_cast<double>(per + guest_cycles_) - period);
        i64 begin = first - timing::READ_TO_BEAT;
        Accesses source{static_cast<Groups>(cost.reads), costs_.walk(index, 0), &reads_};
        Accesses target{static_cast<Groups>(cost.writes), costs_.walk(index, 1), &writes_};
        if (met_here.reads || met_here.writes || late != 0.0) {
            std::optional<Places> places;
            if (!cost.stores) places = Places{target, per, lag, met_here.writes};
            WindowContest::Held held;
            if (late != 0.0) held = [this, late](i64 from, i64 until) { return waits(late, from, until); };
            open_.emplace(source, cost.groups, begin, places, std::move(held));
            return std::nullopt;
        }
        reads_.add({begin, begin + cost.cycles, source.groups, source.walk});
        if (!cost.stores) {
            i64 offered = begin + static_cast<i64>(period) - 1 + lag;
            writes_.add({offered, offered + cost.cycles, target.groups, target.walk, per, period});
        }
        return end(first + cost.cycles, 0);
    }

  protected:
    Contest *contest() const override { return open_ ? const_cast<WindowContest *>(&*open_) : nullptr; }

    i64 close() override {
        Meets here = met(index_);
        i64 written = here.reads || here.writes ? open_->last_write + 1 : 0;
        i64 over = open_->cycle + timing::READ_TO_BEAT;
        open_.reset();
        return end(over, written);
    }

  private:
    // First and last cycle of an instruction's beats, when nothing holds them up, and its reductions.
    struct Span {
        i64 begun, over, reductions;
    };

    Window window_;
    i64 raster_free_ = 0, places_free_ = 0, raster_out_ = 0, places_out_ = 0;
    i64 beats_over_ = 0, last_done_ = -1, accepted_ = 0, begin_ = 0;
    Latest<Trail> reads_{KEPT}, writes_{KEPT};
    Latest<Span> spans_{KEPT};
    const WindowPipeline *guest_ = nullptr;
    i64 guest_cycles_ = 0;
    std::optional<WindowContest> open_;

    // How long drains wait for the guest's reductions.
    double waits(double late, i64 begin, i64 end) const {
        double steps = 0.0;
        i64 last = 0;
        for (const Span &span : guest_->spans_.items()) {
            i64 first = std::max(span.begun, last);
            last = first + std::max(span.over - span.begun, span.reductions * (window_.drain_cycles + guest_cycles_));
            i64 both = std::min(end, last) - std::max(begin, first);
            if (both > 0)
                steps += static_cast<double>(span.reductions * both) / static_cast<double>(last - first);
        }
        double cycles = static_cast<double>(end - begin), share = std::min(0.5, late * steps / cycles);
        return cycles * share / (1 - share);
    }

    // Its beats are over: when the instruction is done, and the next can be accepted.
    i64 end(i64 over, i64 written) {
        const Cost &cost = costs_.of(index_);
        beats_over_ = over;
        i64 ahead = over - cost.wait_bank - timing::RASTER_AHEAD * cost.group - timing::LOOP_TO_BEAT;
        next_ = std::max(begin_ + timing::RASTER_STAGES, raster_out_) + 1;
        raster_free_ = std::max(begin_ + cost.groups, ahead);
        raster_out_ = std::max(begin_ + cost.groups, ahead + timing::RASTER_STAGES * cost.group);
        i64 drained = cost.stores ? window_.stored : window_.done + cost.drain_last;
        i64 done = std::max({last_done_ + 1, over - 1 - cost.wait_end + drained, written});
        if (!cost.stores) {
            i64 places = std::max(accepted_ + timing::RASTER_START + window_.place_rounds, places_free_);
            i64 count = cost.groups * window_.entries;
            next_ = std::max({next_, places + timing::RASTER_STAGES + 1, places_out_ + 1});
            bool held = count > timing::PLACES_AHEAD;
            i64 begun = done - 1 - timing::PLACES_AHEAD / window_.entries * cost.group;
            i64 out = done - 1 - (timing::PLACES_AHEAD - timing::RASTER_STAGES) / window_.entries * cost.group;
            places_free_ = std::max(places + count, held ? begun : 0);
            places_out_ = std::max(places + count, held ? out : 0);
        }
        last_done_ = done;
        return done;
    }
};

class MiscPipeline final : public Worker {
  public:
    // ``seen``: a unit that comes after it is at work in the program.
    MiscPipeline(Costs &costs, const std::vector<Meets> &meets, std::vector<Trails *> rivals, const Machine &machine, bool seen)
        : Worker(costs, meets, std::move(rivals)), seen_(seen), pace_{machine.misc_parts, machine.misc_pipe, machine.misc_room},
          serial_(machine.serial_reads), latency_(machine.misc_latency) {
        notice = timing::MISC_NOTICE;
    }

    const std::deque<Trail> *left(Side side) const override {
        return side == Side::READS ? &reads_.items() : &writes_.items();
    }

    std::vector<Trail> coming(Side side) override {
        return open_ && side == Side::READS ? open_->coming() : std::vector<Trail>();
    }

    std::optional<i64> accept(i64 index, i64 cycle) override {
        const Cost &cost = costs_.of(index);
        index_ = index;
        needs_ = std::max(cycle + 2, settled_);
        i64 first = cycle + timing::MISC_READ;
        Meets here = met(index);
        if (here.reads || here.writes) {
            i64 first_a = std::max(first, read_over_[0]);
            std::array<i64, 2> firsts{first_a, cost.two ? std::max(first, read_over_[1]) : first_a};
            Masks b = cost.two ? costs_.walk(index, 1)->masks() : Masks();
            open_.emplace(static_cast<Groups>(cost.reads | cost.reads_b), static_cast<Groups>(cost.writes),
                          costs_.walk(index, 0)->masks(), b, cost.two != 0, costs_.walk(index, 2)->masks(), firsts, pace_,
                          settled_);
            if (seen_)
                open_->seen(costs_.walk(index, 0), cost.two ? costs_.walk(index, 1) : nullptr, costs_.walk(index, 2), reads_,
                            writes_);
            return std::nullopt;
        }
        i64 parts = pace_.parts;
        bool turns = serial_ && cost.two;
        i64 reads = cost.words * (turns ? 2 : 1) + cost.wait_bank, later = turns ? std::min(cost.words, words::MISC_AHEAD) : 0;
        i64 free = std::max(first + later + words::ANSWER, settled_) + cost.cycles;
        settled_ = free + latency_;
        i64 last = free - parts;
        i64 made_room = last - (words::MISC_AHEAD + words::MISC_ANSWERS - 1) * parts + 1;
        next_ = std::max({cycle + reads, made_room, needs_}) + timing::MISC_TURN;
        i64 over = std::max(first + reads, last - (words::MISC_ANSWERS - 1) * parts + 1);
        read_over_ = {over, over};
        if (seen_) leave(index, first, free - cost.cycles);
        return last + pace_.pipe + 1;
    }

  protected:
    Contest *contest() const override { return open_ ? const_cast<WordContest *>(&*open_) : nullptr; }

    i64 close() override {
        next_ = std::max(open_->last_asked(), needs_) + timing::MISC_TURN;
        read_over_ = open_->read_over();
        settled_ = open_->free() + latency_;
        i64 finish = open_->last_write() + 1;
        open_.reset();
        return finish;
    }

  private:
    bool seen_;
    Latest<Trail> reads_{KEPT}, writes_{KEPT};
    Pace pace_;
    bool serial_;
    i64 latency_, needs_ = 0, settled_ = 0;
    std::array<i64, 2> read_over_{0, 0};
    std::optional<WordContest> open_;

    // Words are read while there is room; then at the pace of slices, which begin at ``begin``.
    void leave(i64 index, i64 first, i64 begin) {
        const Cost &cost = costs_.of(index);
        auto groups = static_cast<Groups>(cost.reads | cost.reads_b);
        double pace = static_cast<double>(cost.cycles) / static_cast<double>(cost.words);
        i64 ahead = std::min(cost.words, words::MISC_ANSWERS), rest = cost.words - ahead;
        i64 later = std::max(first + ahead, begin + pace_.parts), until = later + ceiling(static_cast<double>(rest) * pace);
        for (i64 operand = 0; operand < 1 + cost.two; operand++)
            reads_.add({first, first + ahead, groups, costs_.walk(index, operand)});
        for (i64 operand = 0; rest > 0 && operand < 1 + cost.two; operand++)
            reads_.add({later, until, groups, costs_.walk(index, operand), 1, pace, ahead});
        i64 written = begin + pace_.pipe;
        writes_.add({written, written + cost.cycles, static_cast<Groups>(cost.writes), costs_.walk(index, 2), 1, pace});
    }
};

class RowPipeline final : public Worker {
  public:
    RowPipeline(Costs &costs, const std::vector<Meets> &meets, std::vector<Trails *> rivals, const Machine &machine)
        : Worker(costs, meets, std::move(rivals)), parts_(machine.row_parts), room_(machine.row_room) {}

    // Nobody comes after it.
    const std::deque<Trail> *left(Side) const override { return nullptr; }

    std::optional<i64> accept(i64 index, i64 cycle) override {
        const Cost &cost = costs_.of(index);
        index_ = index;
        i64 done = cycle + cost.cycles;
        Meets here = met(index);
        if (here.reads || here.writes) {
            RowPace pace{cost.row_reduced, cost.row_first, cost.row_second_after, cost.row_second, cost.row_prepared};
            open_.emplace(static_cast<Groups>(cost.reads), static_cast<Groups>(cost.writes), costs_.walk(index, 0)->masks(),
                          costs_.walk(index, 1)->masks(), pace, RowShape{cost.words, parts_, room_},
                          cycle + units::ROW_BEGIN + 1, done);
            return std::nullopt;
        }
        next_ = done + 1;
        return done;
    }

  protected:
    Contest *contest() const override { return open_ ? const_cast<RowContest *>(&*open_) : nullptr; }

    i64 close() override {
        i64 done = open_->last_write() + 1;
        next_ = done + 1;
        open_.reset();
        return done;
    }

  private:
    i64 parts_, room_;
    std::optional<RowContest> open_;
};

}  // namespace cycle
