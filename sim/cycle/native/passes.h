// ROW at work beside units that go first: passes.py.
#pragma once

#include <optional>
#include <vector>

#include "contest.h"

namespace cycle {

struct RowPace {
    i64 reduced, first, second_after, second, prepared;
};

// Rows between their first pass and their last.
class Between {
  public:
    explicit Between(const RowPace &pace) : pace_(pace) {}

    // The next row's last slice is taken in that cycle: the first in which its results may begin.
    i64 results(i64 last) {
        first_ = std::max(last + pace_.reduced, first_ + pace_.first);
        second_ = std::max(first_ + pace_.second_after, second_ + pace_.second);
        return second_ + pace_.prepared;
    }

  private:
    RowPace pace_;
    i64 first_ = passes::BEFORE, second_ = passes::BEFORE;
};

// What others take, looked at in blocks as it is known.
class Bank {
  public:
    Bank(Side side, Groups groups) : side_(side), groups_(groups) {}

    // The first cycle from that one on in which these banks are free, if there is one before ``until``.
    std::optional<i64> free(u64 want, i64 cycle, i64 until, const Rivals &rivals) {
        while (cycle < until) {
            if (cycle < begin_ || cycle >= end_) {
                begin_ = cycle, end_ = std::min(until, cycle + contest::BLOCK);
                any_ = rivals.take(side_, groups_, begin_, end_, ALL, busy_);
            }
            if (!any_) return cycle;
            while (cycle < end_ && (busy_[at(cycle - begin_)] & want) != 0) cycle++;
            if (cycle < end_) return cycle;
        }
        return std::nullopt;
    }

  private:
    Side side_;
    Groups groups_;
    i64 begin_ = 0, end_ = 0;
    bool any_ = false;
    std::vector<u64> busy_;
};

struct RowShape {
    i64 words, parts, room;

    i64 pipe() const { return parts - 1 + passes::ROW_EMIT + passes::FIFO; }
};

class RowContest final : public Contest {
  public:
    RowContest(Groups reads, Groups writes, Masks in, Masks out, const RowPace &pace, const RowShape &shape, i64 first, i64 least)
        : reads_(Side::READS, reads), writes_(Side::WRITES, writes), in_(in), out_(out), between_(pace), shape_(shape),
          least_(least), count_(static_cast<i64>(in.size())), got_{first - 1} {}

    i64 bound() const override {
        if (written_.empty()) return least_;
        return std::max(least_, written_.back() + 1 + (count_ - size(written_)) * shape_.parts);
    }
    bool over() const override { return size(written_) == count_; }
    i64 last_write() const { return written_.back(); }

    void advance(i64 until, const Rivals &rivals) override {
        for (bool moved = true; moved;) {
            moved = read(until, rivals);
            moved |= write(until, rivals);
        }
    }

  private:
    Bank reads_, writes_;
    Masks in_, out_;
    Between between_;
    RowShape shape_;
    i64 least_, count_;
    // Cycles of grants, the first is none, of first slices, of results that may begin and begin, of writes, and of rows that
    // have left their place.
    std::vector<i64> got_, cut_, results_, begun_, written_, over_;

    static i64 size(const std::vector<i64> &cycles) { return static_cast<i64>(cycles.size()); }

    // Words in, as far as there is room for them and what is taken is known; whether there was one.
    bool read(i64 until, const Rivals &rivals) {
        for (bool moved = false;; moved = true) {
            i64 word = size(got_) - 1;
            if (word == count_ || word >= size(cut_) + passes::ROW_ANSWERS) return moved;
            i64 least = got_.back() + 1;
            if (word >= passes::ROW_ANSWERS) least = std::max(least, cut_[at(word - passes::ROW_ANSWERS)] + shape_.parts);
            std::optional<i64> cycle = reads_.free(in_[at(word)], least, until, rivals);
            if (!cycle) return moved;
            got_.push_back(*cycle);
            slice();
        }
    }

    // Cut words into slices that have come, while there is room for their rows.
    void slice() {
        while (size(cut_) < size(got_) - 1) {
            i64 word = size(cut_), row = word / shape_.words, place = word % shape_.words;
            i64 begin = got_[at(word + 1)] + passes::ROW_ANSWER;
            if (word > 0) begin = std::max(begin, cut_.back() + shape_.parts);
            if (place == 0 && row >= passes::ROWS_HELD) {
                if (row - passes::ROWS_HELD >= size(over_)) return;
                begin = std::max(begin, over_[at(row - passes::ROWS_HELD)]);
            }
            cut_.push_back(begin);
            if (place == shape_.words - 1) results_.push_back(between_.results(begin + shape_.parts - 1));
        }
    }

    // Words out; whether there was one.
    bool write(i64 until, const Rivals &rivals) {
        for (bool moved = false;; moved = true) {
            i64 word = size(written_), row = word / shape_.words, place = word % shape_.words;
            if (row == size(results_)) return moved;
            i64 begin = place == 0 ? results_[at(row)] : 0;
            if (word > 0) begin = std::max(begin, begun_.back() + shape_.parts);
            if (word >= shape_.room) begin = std::max(begin, written_[at(word - shape_.room)] + passes::ROW_FREED);
            i64 least = begin + shape_.pipe();
            if (word > 0) least = std::max(least, written_.back() + 1);
            std::optional<i64> cycle = writes_.free(out_[at(word)], least, until, rivals);
            if (!cycle) return moved;
            begun_.push_back(begin);
            written_.push_back(*cycle);
            if (place == shape_.words - 1) {
                over_.push_back(begin + shape_.parts);
                slice();
            }
        }
    }
};

}  // namespace cycle
