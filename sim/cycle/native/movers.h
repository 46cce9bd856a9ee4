// LOAD and SAVE as pipelines: movers.py.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "bus.h"
#include "units.h"

namespace cycle {

class Mover : public Pipeline {
  public:
    Mover(Costs &costs, Stream &stream, Bus &bus) : costs_(costs), stream_(stream), bus_(bus) {}

    std::optional<i64> ready() override {
        if (stream_.served + EPSILON < left_[0]) {
            stream_.watch = left_[0];
            return std::nullopt;
        }
        if (stream_.watch < NEVER) {
            stream_.watch = NEVER;
            next_ = std::max(next_, ceiling(bus_.now) + timing::LOAD_NEXT);
        }
        return next_;
    }

    // DRAM has served it: when it is done.
    virtual i64 finished(const Transfer &transfer, double cycle) {
        for (Trail &each : trail(transfer, cycle)) moved_.add(std::move(each));
        return ceiling(cycle - EPSILON) + tail(costs_.of(transfer.index));
    }

  protected:
    Costs &costs_;
    Stream &stream_;
    Bus &bus_;
    i64 next_ = 0;
    std::array<double, 2> left_{-NEVER, -NEVER};
    Latest<Trail> moved_{KEPT};

    // Its words on chip, if DRAM has served it, or will have, at ``end``.
    virtual std::vector<Trail> trail(const Transfer &transfer, double end) const = 0;
    // Cycles from when DRAM has served it until it is done.
    virtual i64 tail(const Cost &cost) const = 0;

    // When the transfer that DRAM serves now is over, as far as is known.
    double until(double speed) const { return std::max(bus_.now, stream_.current->due) + stream_.left / speed; }

    void leaves(double served) { left_ = {left_[1], served}; }
};

class LoadPipeline final : public Mover {
  public:
    LoadPipeline(Costs &costs, Bus &bus, i64 burst_beats)
        : Mover(costs, bus.reads, bus), burst_beats_(burst_beats), beats_ahead_(bus.ahead),
          read_(timing::LOAD_ADDRESS + bus.read) {}

    std::optional<i64> accept(i64 index, i64 cycle) override {
        const Cost &cost = costs_.of(index);
        i64 gap = cost.parameters || cost.cycles > cost.beats ? timing::LOAD_GAP : 0;
        if (last_ != nullptr && (cost.parameters != last_->parameters || cost.alone || last_->alone))
            gap = tail(*last_) + (cost.parameters ? 0 : timing::LOAD_WORD);
        last_ = &cost;
        i64 due = cycle + (cost.beats ? read_ : timing::LOAD_FILL);
        if (cost.beats) {
            runs_ = {cost.beats > cost.run ? cost.run : runs_[1], cost.run};
            bursts_.add({cost.bursts, static_cast<double>(cost.beats) / static_cast<double>(cost.bursts)});
        }
        i64 chunks = cost.parameters ? 0 : timing::LOAD_CHUNKS;
        stream_.add({index, cost.beats, static_cast<double>(cost.cycles), static_cast<double>(due), gap, cost.bursts, true,
                     chunks, std::min(cost.run, burst_beats_)});
        i64 part = floor_div(cost.run - 1, burst_beats_);
        i64 ahead = runs_[0] + runs_[1] + beats_ahead_ + (cost.run - 1 - part * burst_beats_) + 1;
        leaves(static_cast<double>(stream_.asked) - std::min(static_cast<double>(ahead), beats_ahead()));
        next_ = cycle + timing::LOAD_NEXT;
        return std::nullopt;
    }

    i64 finished(const Transfer &transfer, double cycle) override {
        i64 finish = Mover::finished(transfer, cycle);
        double bursts = static_cast<double>(transfer.bursts), all = static_cast<double>(costs_.of(transfer.index).bursts);
        walked_ = transfer.last ? 0.0 : walked_ + bursts / all;
        return finish;
    }

    const std::deque<Trail> *left(Side side) const override { return side == Side::WRITES ? &moved_.items() : nullptr; }

    std::vector<Trail> coming(Side side) override {
        if (side == Side::READS || !stream_.current) return {};
        return trail(*stream_.current, until(bus_.read_speed));
    }

  protected:
    std::vector<Trail> trail(const Transfer &transfer, double end) const override {
        const Cost &cost = costs_.of(transfer.index);
        if (!cost.walks) return {};
        double part = cost.bursts ? static_cast<double>(transfer.bursts) / static_cast<double>(cost.bursts) : 1.0;
        double all = static_cast<double>(cost.words);
        i64 words = rounded(all * part), skip = part < 1 ? rounded(all * walked_) : 0;
        i64 begin = ceiling(transfer.due) + timing::LOAD_TAIL + cost.edge;
        i64 length = std::max(words, ceiling(end - transfer.due));
        double period = static_cast<double>(length) / static_cast<double>(std::max<i64>(1, words));
        return {{begin, begin + length, static_cast<Groups>(cost.writes), costs_.walk(transfer.index, 0), 1, period, skip}};
    }

    i64 tail(const Cost &cost) const override {
        return cost.parameters ? timing::LOADP_TAIL : timing::LOAD_TAIL + cost.edge;
    }

  private:
    struct Bursts {
        i64 count;
        double beats;
    };

    i64 burst_beats_, beats_ahead_, read_;
    double walked_ = 0.0;
    const Cost *last_ = nullptr;
    std::array<i64, 2> runs_{0, 0};
    Latest<Bursts> bursts_{timing::BURSTS_AHEAD};

    // Beats of the last bursts, as many as may have left the generator of runs and not be served.
    double beats_ahead() const {
        i64 left = timing::BURSTS_AHEAD;
        double beats = 0.0;
        for (auto each = bursts_.items().rbegin(); each != bursts_.items().rend(); ++each) {
            if (each->count >= left) return beats + static_cast<double>(left) * each->beats;
            left -= each->count;
            beats += static_cast<double>(each->count) * each->beats;
        }
        return NEVER;
    }
};

class SavePipeline final : public Mover {
  public:
    SavePipeline(Costs &costs, Bus &bus, i64 burst_beats, i64 ports)
        : Mover(costs, bus.writes, bus), burst_beats_(burst_beats), late_(ports > 1 ? timing::BRIDGE_WRITE : 0),
          ahead_(timing::SAVE_AHEAD_BEATS + (ports > 1 ? 2 * ports * burst_beats : 0)) {}

    std::optional<i64> accept(i64 index, i64 cycle) override {
        const Cost &cost = costs_.of(index);
        i64 due = cycle + std::max(timing::SAVE_WRITE, timing::SAVE_ADDRESS + cost.address_wait) + late_;
        stream_.add({index, cost.beats, static_cast<double>(cost.cycles), static_cast<double>(due), 0, 0, true, 0,
                     std::min(cost.run, burst_beats_)});
        leaves(static_cast<double>(stream_.asked - ahead_));
        i64 begin = std::max(cycle + 1, read_);
        read_ = begin + cost.words;
        begins_[index] = begin + timing::SAVE_READ;
        next_ = std::max(begin + 1, cycle + timing::LOAD_NEXT + std::max<i64>(0, cost.address_wait));
        return std::nullopt;
    }

    i64 finished(const Transfer &transfer, double cycle) override {
        i64 finish = Mover::finished(transfer, cycle);
        begins_.erase(transfer.index);
        return finish;
    }

    const std::deque<Trail> *left(Side side) const override { return side == Side::READS ? &moved_.items() : nullptr; }

    std::vector<Trail> coming(Side side) override {
        if (side == Side::WRITES || !stream_.current) return {};
        std::vector<Trail> found = trail(*stream_.current, until(bus_.write_speed));
        for (const Transfer &transfer : stream_.queue)
            for (Trail &each : trail(transfer, 0.0)) found.push_back(std::move(each));
        return found;
    }

  protected:
    // One word after the other, until as many beats wait as there is room for; then as DRAM takes them.
    std::vector<Trail> trail(const Transfer &transfer, double end) const override {
        const Cost &cost = costs_.of(transfer.index);
        Groups groups = static_cast<Groups>(cost.reads);
        Walk *walk = costs_.walk(transfer.index, 0);
        i64 begin = begins_.at(transfer.index);
        double alone = static_cast<double>(cost.cycles) / static_cast<double>(cost.words);
        i64 room = std::min(cost.words, ahead_ * cost.words / cost.beats);
        i64 filled = begin + ceiling(static_cast<double>(room) * alone);
        std::vector<Trail> found{{begin, filled, groups, walk, 1, alone}};
        if (room == cost.words) return found;
        double pace = std::max(alone, (end - transfer.due) / static_cast<double>(cost.words));
        i64 later = pace > alone ? std::max(filled, ceiling(transfer.due)) : filled;
        i64 over = later + ceiling(static_cast<double>(cost.words - room) * pace);
        found.push_back({later, over, groups, walk, 1, pace, room});
        return found;
    }

    i64 tail(const Cost &) const override { return timing::SAVE_TAIL + late_; }

  private:
    i64 burst_beats_, late_, ahead_, read_ = 0;
    std::unordered_map<i64, i64> begins_;
};

}  // namespace cycle
