// MISC at work beside units that go first: words.py.
#pragma once

#include <array>
#include <vector>

#include "contest.h"

namespace cycle {

struct Pace {
    i64 parts, pipe, room;

    i64 held() const { return std::max({room, words::MISC_ANSWERS, words::MISC_AHEAD + 1}); }
};

// Cycles of the last words, the last of all at the end.
class History {
  public:
    History(i64 last, const Pace &pace) : cycles_(at(pace.held())) { restart(last, pace.parts); }

    // As if all words until then had come without a wait.
    void restart(i64 last, i64 parts) {
        for (auto cycle = cycles_.rbegin(); cycle != cycles_.rend(); ++cycle, last -= parts) *cycle = last;
    }

    // So many words from the end.
    i64 back(i64 words) const { return cycles_[cycles_.size() - at(words)]; }
    i64 last() const { return cycles_.back(); }
    void add(i64 cycle) { cycles_.push_back(cycle); }
    void drop(i64 words) { cycles_.resize(cycles_.size() - at(words)); }
    void shorten(const Pace &pace) { cycles_.erase(cycles_.begin(), cycles_.end() - pace.held()); }

  private:
    std::vector<i64> cycles_;
};

class WordContest final : public Contest {
  public:
    WordContest(Groups reads, Groups writes, Masks a, Masks b, bool two, Masks o, std::array<i64, 2> first, Pace pace, i64 free)
        : read_groups_(reads), write_groups_(writes), a_(a), b_(b), o_(o), two_(two), pace_(pace),
          count_(static_cast<i64>(a.size())), first_(std::max(first[0], first[1])), behind_(std::min(first[0], first[1])),
          begin_(std::max(first_ + words::ANSWER, free)), gots_(first[0] - 1, pace), others_(first[1] - 1, pace),
          begins_(begin_ - pace.parts, pace), writes_(begin_ - pace.parts + pace.pipe, pace),
          quiet_(pace.parts == 1 && begin_ == first_ + words::ANSWER ? words::STEADY : 0) {}

    i64 bound() const override {
        return std::max(writes_.last() + 1, behind_ + pace_.parts - 1) + (count_ - word_) * pace_.parts;
    }
    bool over() const override { return word_ == count_; }
    i64 last_write() const { return writes_.last(); }
    std::array<i64, 2> read_over() const { return {gots_.last() + 1, others_.last() + 1}; }
    i64 free() const { return begins_.last() + pace_.parts; }

    i64 last_asked() const {
        i64 undisturbed = first_ + count_ - words::ASKED;
        if (count_ <= words::MISC_AHEAD) return undisturbed;
        return std::max({undisturbed, gots_.back(1 + words::MISC_AHEAD) + 1, others_.back(1 + words::MISC_AHEAD) + 1});
    }

    // Leave a trail of both operands and the output.
    void seen(Walk *a, Walk *b, Walk *o, Latest<Trail> &reads, Latest<Trail> &writes) {
        seen_ = {Seen{a, &gots_, read_groups_, &reads}, {b, &others_, read_groups_, &reads}, {o, &writes_, write_groups_, &writes}};
        for (Seen &each : seen_) each.last = each.cycles->last();
    }

    // What it will read, unless it waits.
    std::vector<Trail> coming() const {
        std::vector<Trail> found;
        i64 left = (count_ - word_) * pace_.parts;
        for (std::size_t operand = 0; operand < 2; operand++) {
            const Seen &each = seen_[operand];
            if (each.walk == nullptr) continue;
            i64 begin = each.cycles->last() + 1;
            found.push_back({begin, begin + left, each.groups, each.walk, 1, static_cast<double>(pace_.parts), word_});
        }
        return found;
    }

    void advance(i64 until, const Rivals &rivals) override {
        i64 size = contest::BLOCK;
        while (!over()) {
            i64 begin = first_cycle(), end = std::min(until, begin + size), before = word_;
            if (end <= begin) return;
            bool reads = rivals.take(Side::READS, read_groups_, begin, end, ALL, busy_reads_);
            bool writes = rivals.take(Side::WRITES, write_groups_, begin, end, ALL, busy_writes_);
            while (!over()) {
                if (quiet_ >= words::STEADY && !flow(begin, end, reads, writes)) break;
                if (!over() && !struggle(begin, end, reads, writes)) break;
            }
            behind_ = end;
            if (end == until) return;
            size = word_ > before ? contest::BLOCK : 2 * size;
        }
    }

  private:
    Groups read_groups_, write_groups_;
    Masks a_, b_, o_;
    bool two_;
    Pace pace_;
    i64 count_, word_ = 0, first_, behind_, begin_;
    History gots_, others_, begins_, writes_;
    i64 quiet_;
    std::vector<u64> busy_reads_, busy_writes_, asked_;

    // What leaves a trail, and the last cycle that it tells of.
    struct Seen {
        Walk *walk = nullptr;
        const History *cycles = nullptr;
        Groups groups = 0;
        Latest<Trail> *trail = nullptr;
        i64 last = 0;
    };
    std::array<Seen, 3> seen_ = {};
    // Words that it tells of.
    i64 told_ = 0;

    // Words since the last trail, as if they had come evenly.
    void leave() {
        i64 count = word_ - told_;
        if (seen_[0].walk == nullptr || count == 0) return;
        for (Seen &each : seen_) {
            i64 last = each.cycles->last();
            double period = static_cast<double>(last - each.last) / static_cast<double>(count);
            if (each.walk != nullptr) each.trail->add({each.last + 1, last + 1, each.groups, each.walk, 1, period, told_});
            each.last = last;
        }
        told_ = word_;
    }

    i64 first_cycle() const { return std::min({gots_.last(), others_.last(), writes_.last() - pace_.pipe}) + 1; }

    // All words that meet nobody, one per cycle; false if the cycles are over.
    bool flow(i64 begin, i64 end, bool reads, bool writes) {
        i64 step = pace_.parts;
        i64 a = gots_.last() + step, b = others_.last() + step, s = begins_.last() + step, w = writes_.last() + step;
        i64 size = std::min(ceil_div(end - w, step), count_ - word_);
        if (size <= 0) return false;
        i64 first = std::max<i64>(0, a - b) / step, lead = std::max<i64>(0, b - a) / step;
        bool same = two_ && (a - b) % step == 0;
        auto meets = [&](i64 n) {
            u64 met = 0;
            if (reads) met |= a_[at(word_ + n)] & busy_reads_[at(a - begin + n * step)];
            if (two_) {
                u64 other = b_[at(word_ + n)];
                if (reads) met |= other & busy_reads_[at(b - begin + n * step)];
                if (i64 beside = n - first + lead; same && n >= first && beside < size) met |= other & a_[at(word_ + beside)];
            }
            if (writes) met |= o_[at(word_ + n)] & busy_writes_[at(w - begin + n * step)];
            return met != 0;
        };
        i64 free = 0;
        while (free < size && !meets(free)) free++;
        if (free > 0) {
            word_ += free;
            i64 further = (free - 1) * step;
            gots_.restart(a + further, step), others_.restart(b + further, step);
            begins_.restart(s + further, step), writes_.restart(w + further, step);
            leave();
        }
        if (free < size) quiet_ = 0;
        return free < size;
    }

    // Word by word, until nothing has waited for a while; false if the cycles are over.
    bool struggle(i64 begin, i64 end, bool reads, bool writes) {
        i64 first = std::max(begin, first_cycle());
        if (first >= end) return false;
        if (reads) asked_ = busy_reads_;
        else asked_.assign(at(end - begin), 0);
        auto taken = [&](i64 cycle) { return reads ? busy_reads_[at(cycle - begin)] : 0; };
        auto taken_writes = [&](i64 cycle) { return writes ? busy_writes_[at(cycle - begin)] : 0; };
        auto asked = [&](i64 cycle) -> u64 & { return asked_[at(cycle - begin)]; };
        i64 parts = pace_.parts, most = two_ ? words::MISC_AHEAD : 1, ahead = 0;
        i64 word = word_, stop = std::min(count_, word_ + end - first + words::MISC_AHEAD);
        while (word < stop && quiet_ < words::STEADY) {
            for (; ahead < most && word + ahead < stop; ahead++) {
                i64 now = std::max({gots_.last() + 1, others_.back(words::MISC_AHEAD - ahead) + words::ASKED,
                                    begins_.back(words::MISC_ANSWERS - ahead) + parts});
                u64 want = a_[at(word + ahead)];
                for (; now < end && (taken(now) & want) != 0; now++) asked(now) |= want;
                if (now >= end) break;
                asked(now) |= want;
                gots_.add(now);
            }
            if (ahead == 0) break;
            i64 got = gots_.back(ahead), second = got;
            if (two_) {
                second = std::max({others_.last() + 1, gots_.back(ahead + words::MISC_AHEAD) + words::ASKED,
                                   begins_.back(words::MISC_ANSWERS) + parts});
                u64 want = b_[at(word)];
                while (second < end && (asked(second) & want) != 0) second++;
                if (second >= end) break;
            }
            i64 start = std::max({begins_.last() + parts, std::max(got, second) + words::ANSWER,
                                  writes_.back(pace_.room) + words::FREED});
            i64 now = std::max(start + pace_.pipe, writes_.last() + 1);
            u64 want = o_[at(word)];
            while (now < end && (taken_writes(now) & want) != 0) now++;
            if (now >= end) break;
            bool steady = now - writes_.last() == parts && start - begins_.last() == parts &&
                          second - others_.last() == parts && got - gots_.back(ahead + 1) == parts;
            quiet_ = steady ? quiet_ + 1 : 0;
            others_.add(second), begins_.add(start), writes_.add(now);
            ahead--, word++;
        }
        gots_.drop(ahead);
        for (History *each : {&gots_, &others_, &begins_, &writes_}) each->shorten(pace_);
        word_ = word;
        leave();
        return over() || quiet_ >= words::STEADY;
    }
};

}  // namespace cycle
