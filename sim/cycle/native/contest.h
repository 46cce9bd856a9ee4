// CONV or POOL at work beside units that go first: contest.py.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "layout.h"
#include "trails.h"

namespace cycle {

// Work that is followed step by step.
class Contest {
  public:
    virtual ~Contest() = default;
    // The cycle in which it is over if nobody is in the way any more.
    virtual i64 bound() const = 0;
    virtual bool over() const = 0;
    virtual void advance(i64 until, const Rivals &rivals) = 0;
};

// What an instruction reads or writes, and where it leaves its trail.
struct Accesses {
    Groups groups;
    Walk *walk;
    Latest<Trail> *trail;
};

struct Places {
    Accesses accesses;
    i64 per, lag;
    bool contested;
};

class WindowContest final : public Contest {
  public:
    using Held = std::function<double(i64, i64)>;

    WindowContest(Accesses reads, i64 reductions, i64 first, std::optional<Places> places, Held held)
        : cycle(first), reads_(reads), places_(places), held_(std::move(held)), masks_(reads.walk->masks()),
          steps_(static_cast<i64>(masks_.size())), reductions_(reductions) {}

    i64 cycle, last_write = -1;

    i64 bound() const override { return cycle + steps_ - step_; }
    bool over() const override { return step_ == steps_; }

    void advance(i64 until, const Rivals &rivals) override {
        std::vector<u64> taken, wanted;
        while (step_ < steps_ && cycle < until) {
            i64 size = std::min(until - cycle, steps_ - step_);
            if (held_) {
                size = std::min(size, contest::HELD_BLOCK);
                late_ += held_(cycle, cycle + size);
                i64 late = static_cast<i64>(late_);
                late_ = std::fmod(late_, 1.0);
                cycle += late;
            }
            if (!rivals.take(Side::READS, reads_.groups, cycle, cycle + size, contest::BLOCK, taken)) {
                go(size, rivals);
                continue;
            }
            i64 count = static_cast<i64>(taken.size());
            Masks masks = part(masks_, step_, step_ + count);
            wanted.assign(masks.begin(), masks.end());
            if (left_) wanted[0] = *left_;
            i64 free = 0;
            while (free < count && (wanted[at(free)] & taken[at(free)]) == 0) free++;
            if (free > 0) go(free, rivals);
            if (free < count) wait(Masks(wanted).subspan(at(free)), Masks(taken).subspan(at(free)), rivals);
        }
    }

  private:
    Accesses reads_;
    std::optional<Places> places_;
    Held held_;
    Masks masks_;
    i64 steps_, reductions_, step_ = 0, reduced_ = 0;
    double late_ = 0.0;
    std::optional<u64> left_;

    // Steps that nobody meets.
    void go(i64 size, const Rivals &rivals) {
        reads_.trail->add({cycle, cycle + size, reads_.groups, reads_.walk, 1, 1.0, step_});
        left_.reset();
        i64 begin = step_;
        step_ += size;
        reduce(cycle - begin, rivals);
        cycle += size;
    }

    // Steps in cycles in which banks are taken.
    void wait(Masks masks, Masks taken, const Rivals &rivals) {
        Entries record;
        std::vector<i64> done;
        left_ = follow(masks, taken, record.masks, done);
        i64 count = static_cast<i64>(record.masks.size());
        for (i64 n = 0; n < count; n++) record.cycles.push_back(cycle + n);
        reads_.trail->add({cycle, cycle + count, reads_.groups, nullptr, 1, 1.0, 0, std::move(record)});
        i64 begin = step_;
        step_ += static_cast<i64>(done.size());
        i64 reduced = step_ * reductions_ / steps_;
        if (places_ && reduced > reduced_) {
            Entries offered;
            Masks places = places_->accesses.walk->masks();
            for (i64 number = reduced_; number < reduced; number++) {
                i64 end = ceil_div((number + 1) * steps_, reductions_) - 1 - begin;
                for (i64 n = 0; n < places_->per; n++) {
                    offered.cycles.push_back(cycle + done[at(end)] + places_->lag + n);
                    offered.masks.push_back(places[at(number * places_->per + n)]);
                }
            }
            reduced_ = reduced;
            offer(std::move(offered), rivals);
        }
        cycle += count;
    }

    // What is wanted in each cycle, the cycles in which steps are over, and the banks that the step at hand still wants.
    static std::optional<u64> follow(Masks steps, Masks busy, std::vector<u64> &wanted, std::vector<i64> &done) {
        std::size_t cycle = 0;
        for (std::size_t step = 0; step < steps.size(); step++) {
            u64 left = steps[step];
            if (cycle == busy.size()) return left;
            do {
                wanted.push_back(left);
                left &= busy[cycle++];
            } while (left != 0 && cycle < busy.size());
            if (left != 0) return left;
            done.push_back(static_cast<i64>(cycle) - 1);
        }
        return std::nullopt;
    }

    // Steps are over, the last ones as if step 0 had been in cycle ``origin``: their reductions' places are known.
    void reduce(i64 origin, const Rivals &rivals) {
        if (!places_) return;
        i64 reduced = step_ * reductions_ / steps_, count = reduced - reduced_;
        if (count == 0) return;
        double period = static_cast<double>(steps_) / static_cast<double>(reductions_);
        i64 begin = origin + ceil_div((reduced_ + 1) * steps_, reductions_) - 1 + places_->lag;
        i64 end = begin + static_cast<i64>(static_cast<double>(count - 1) * period) + places_->per;
        const Accesses &to = places_->accesses;
        Trail piece{begin, end, to.groups, to.walk, places_->per, period, reduced_ * places_->per};
        reduced_ = reduced;
        if (places_->contested) {
            write(std::move(piece), rivals);
        } else {
            to.trail->add(std::move(piece));
            last_write = end - 1;
        }
    }

    // Writes at even distances.
    void write(Trail piece, const Rivals &rivals) {
        std::vector<u64> taken;
        i64 begin = std::max(piece.begin, last_write + 1);
        if (begin == piece.begin && !rivals.take(Side::WRITES, piece.groups, begin, piece.end, 1, taken)) {
            last_write = piece.end - 1;
            places_->accesses.trail->add(std::move(piece));
        } else {
            offer(piece.entries(piece.begin, piece.end), rivals);
        }
    }

    // Writes wait in a queue, which is long enough that reads go on.
    void offer(Entries offered, const Rivals &rivals) {
        const Accesses &to = places_->accesses;
        std::size_t count = offered.cycles.size();
        i64 begin = std::max(offered.cycles.front(), last_write + 1), end = offered.cycles.back() + 1;
        std::vector<u64> busy;
        bool known = places_->contested && rivals.take(Side::WRITES, to.groups, begin, std::max(begin + 1, end), ALL, busy);
        bool meets = false;
        for (std::size_t n = 0; known && n < count; n++)
            meets |= (busy[at(std::max<i64>(offered.cycles[n] - begin, 0))] & offered.masks[n]) != 0;
        if (begin == offered.cycles.front() && !meets) {
            last_write = end - 1;
            to.trail->add({begin, end, to.groups, nullptr, 1, 1.0, 0, std::move(offered)});
            return;
        }
        i64 now = begin, last = offered.masks.back() != 0 ? 0 : offered.cycles.back();
        Entries written;
        std::vector<u64> more;
        for (std::size_t n = 0; n < count; n++) {
            u64 left = offered.masks[n];
            if (left == 0) continue;
            now = std::max(now, offered.cycles[n]);
            for (; left != 0; now++) {
                if (now - begin >= static_cast<i64>(busy.size())) {
                    i64 from = begin + static_cast<i64>(busy.size()), until = now + contest::BLOCK;
                    bool any = rivals.take(Side::WRITES, to.groups, from, until, ALL, more);
                    if (any) busy.insert(busy.end(), more.begin(), more.end());
                    else busy.resize(at(until - begin), 0);
                }
                written.cycles.push_back(now);
                written.masks.push_back(left);
                left &= busy[at(now - begin)];
            }
        }
        now = std::max(now, last);
        last_write = now - 1;
        if (!written.cycles.empty())
            to.trail->add({written.cycles.front(), now, to.groups, nullptr, 1, 1.0, 0, std::move(written)});
    }
};

}  // namespace cycle
