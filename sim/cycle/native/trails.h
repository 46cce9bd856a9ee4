// What a unit has asked of the feature maps, cycle by cycle: trails.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <span>
#include <stdexcept>
#include <vector>

#include "numbers.h"

namespace cycle {

using Groups = u64;
using Masks = std::span<const u64>;

// Whoever was asked for masks has failed, and keeps the reason.
struct Unanswered : std::runtime_error {
    Unanswered() : std::runtime_error("masks") {}
};

// The accesses of one instruction: made when they are first looked at, which most never are.
class Walk {
  public:
    using Ask = const u64 *(*)(i64 number, i64 *count);

    Walk(Ask ask, i64 number) : ask_(ask), number_(number) {}

    Masks masks() {
        if (!known_) {
            i64 count = UNKNOWN;
            const u64 *first = ask_(number_, &count);
            if (count < 0) throw Unanswered();
            masks_ = Masks(first, at(count));
            known_ = true;
        }
        return masks_;
    }

  private:
    Ask ask_;
    i64 number_;
    bool known_ = false;
    Masks masks_;
};

inline Masks part(Masks masks, i64 begin, i64 end) {
    i64 size = static_cast<i64>(masks.size());
    begin = std::min(begin, size), end = std::min(end, size);
    return begin < end ? masks.subspan(at(begin), at(end - begin)) : Masks();
}

// Cycles and banks of accesses.
struct Entries {
    std::vector<i64> cycles;
    std::vector<u64> masks;
};

// Both kinds: a stretch of a walk, or (``walk`` is null) a record of accesses that had to wait.
struct Trail {
    i64 begin, end;
    Groups groups;
    Walk *walk = nullptr;
    i64 per = 1;
    double period = 1.0;
    i64 skip = 0;
    Entries record = {};

    void fill(std::span<u64> taken, i64 first) const {
        if (walk == nullptr) return fill_record(taken, first);
        i64 low = std::max(first, begin), high = std::min(first + static_cast<i64>(taken.size()), end);
        if (low >= high) return;
        Masks masks = walk->masks();
        if (period == 1.0) {
            u64 *to = &taken[at(low - first)];
            for (u64 mask : part(masks, skip + low - begin, skip + high - begin)) *to++ |= mask;
        } else if (static_cast<double>(per) <= period && std::trunc(period) == period) {
            fill_bunches(taken, first, low, high, masks);
        } else {
            Entries found = entries(low, high);
            // Where two fall into one cycle the later stands, as with an assignment by indices.
            for (std::size_t n = 0; n < found.cycles.size(); n++)
                found.masks[n] |= taken[at(found.cycles[n] - first)];
            for (std::size_t n = 0; n < found.cycles.size(); n++)
                taken[at(found.cycles[n] - first)] = found.masks[n];
        }
    }

    Entries entries(i64 low, i64 high) const {
        low = std::max(low, begin), high = std::min(high, end);
        Masks masks = walk->masks();
        i64 bunch = static_cast<i64>(static_cast<double>(low - begin) / period);
        i64 bunches = static_cast<i64>(static_cast<double>(high - begin) / period) + 1;
        i64 stop = std::min(static_cast<i64>(masks.size()) - skip, bunches * per);
        Entries found;
        for (i64 number = bunch * per; number < stop; number++) {
            i64 cycle = begin + static_cast<i64>(static_cast<double>(number / per) * period) + number % per;
            if (cycle < low || cycle >= high) continue;
            found.cycles.push_back(cycle);
            found.masks.push_back(masks[at(skip + number)]);
        }
        return found;
    }

  private:
    // Every so many cycles, every so many masks.
    void fill_bunches(std::span<u64> taken, i64 first, i64 low, i64 high, Masks masks) const {
        i64 apart = static_cast<i64>(period), size = static_cast<i64>(masks.size());
        for (i64 number = 0; number < per; number++) {
            i64 start = begin + number;
            i64 bunch = std::max<i64>(0, ceil_div(low - start, apart));
            i64 stop = std::min(ceil_div(high - start, apart), floor_div(size - skip - number + per - 1, per));
            for (; bunch < stop; bunch++)
                taken[at(start + bunch * apart - first)] |=
                    masks[at(skip + number + bunch * per)];
        }
    }

    void fill_record(std::span<u64> taken, i64 first) const {
        const std::vector<i64> &cycles = record.cycles;
        auto low = std::lower_bound(cycles.begin(), cycles.end(), first);
        auto high = std::lower_bound(low, cycles.end(), first + static_cast<i64>(taken.size()));
        for (; low != high; ++low)
            taken[at(*low - first)] |= record.masks[at(low - cycles.begin())];
    }
};

// The last of them.
template <typename Item>
class Latest {
  public:
    explicit Latest(std::size_t most) : most_(most) {}

    void add(Item item) {
        items_.push_back(std::move(item));
        if (items_.size() > most_) items_.pop_front();
    }

    const std::deque<Item> &items() const { return items_; }

  private:
    std::size_t most_;
    std::deque<Item> items_;
};

enum class Side { READS, WRITES };

// Of cycles that are looked at.
constexpr i64 ALL = std::numeric_limits<i64>::max();

// Whoever leaves trails, in the order of time: those that it remembers, and those that are to come as far as is known.
class Trails {
  public:
    virtual ~Trails() = default;
    virtual const std::deque<Trail> *left(Side side) const = 0;
    virtual std::vector<Trail> coming(Side) { return {}; }
};

// The units that go first.
class Rivals {
  public:
    explicit Rivals(std::vector<Trails *> units) : units_(std::move(units)) {}

    // Whether they take anything between these cycles; ``taken`` then has the banks of the first of them, ``most`` at most.
    bool take(Side side, Groups groups, i64 first, i64 end, i64 most, std::vector<u64> &taken) const {
        bool any = false;
        auto look = [&](const Trail &trail) {
            if (trail.end <= first) return false;
            if (trail.begin < end && (trail.groups & groups) != 0) {
                if (!any) taken.assign(at(std::min(end - first, most)), 0);
                any = true;
                trail.fill(taken, first);
            }
            return true;
        };
        for (Trails *unit : units_) {
            std::vector<Trail> coming = unit->coming(side);
            const std::deque<Trail> *left = unit->left(side);
            if (std::all_of(coming.rbegin(), coming.rend(), look) && left != nullptr)
                (void)std::all_of(left->rbegin(), left->rend(), look);
        }
        return any;
    }

  private:
    std::vector<Trails *> units_;
};

}  // namespace cycle
