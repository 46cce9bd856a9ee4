// DRAM as a fluid: bus.py.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "layout.h"
#include "numbers.h"

namespace cycle {

using bus::EPSILON;

struct Transfer {
    i64 index, beats;
    double work, due;
    i64 gap, bursts = 0;
    bool last = true;
    i64 chunks = 0, first = 0;

    double burst_beats() const { return static_cast<double>(beats) / static_cast<double>(std::max<i64>(1, bursts)); }
};

class Stream {
  public:
    // ``ahead``: beats that may be on their way when another burst is asked for; UNKNOWN: any number. DRAM serves a beat in a
    // cycle at most, so no burst waits for as many beats as the latency has cycles.
    Stream(i64 places, i64 turn, i64 read, i64 ports, i64 ahead = UNKNOWN)
        : places_(places), turn_(turn), read_(read), ports_(ports),
          ahead_(ahead < read + timing::AHEAD_TURN ? ahead : UNKNOWN) {}

    std::deque<Transfer> queue;
    std::optional<Transfer> current;
    double left = 0.0, density = 0.0, served = 0.0;
    i64 asked = 0;
    double watch = NEVER;

    void add(const Transfer &transfer) {
        asked += transfer.beats;
        if (current) queue.push_back(transfer);
        else begin(transfer);
    }

    Transfer finish(double now) {
        Transfer done = *current;
        current.reset();
        over_ = now;
        if (done.bursts != 0) {
            double count = static_cast<double>(done.bursts);
            double apart = std::max(done.work, now - done.due) / count, size = static_cast<double>(done.beats) / count;
            std::vector<double> ends;
            for (i64 burst = std::min(done.bursts, places_) - 1; burst >= 0; burst--)
                ends.push_back(now - static_cast<double>(burst + 1) * apart + size);
            free(ends);
        }
        if (ahead_ != UNKNOWN && done.beats != 0) {
            spans_.push_back({begun_, done.due, (now - done.due) / static_cast<double>(done.beats)});
            begun_ += done.beats;
            while (spans_.size() > 1 && spans_[1].first < begun_ - ahead_) spans_.pop_front();
        }
        if (!queue.empty()) {
            Transfer next = queue.front();
            queue.pop_front();
            begin(next);
        }
        return done;
    }

    void free(const std::vector<double> &ends) {
        ends_.insert(ends_.end(), ends.begin(), ends.end());
        std::sort(ends_.begin(), ends_.end());
        if (static_cast<i64>(ends_.size()) > places_) ends_.erase(ends_.begin(), ends_.end() - places_);
    }

  private:
    // A transfer that is over: the number of its first beat, when that was served, and cycles from beat to beat.
    struct Span {
        i64 first;
        double begin, pace;
    };

    i64 places_, turn_, read_, ports_, ahead_;
    double over_ = -NEVER;
    std::vector<double> ends_;
    i64 begun_ = 0;
    std::deque<Span> spans_;

    void begin(Transfer transfer) {
        double since = transfer.due;
        transfer.due = std::max(since, over_ + static_cast<double>(transfer.gap));
        if (transfer.bursts != 0) address(transfer);
        if (ports_ > 1 && transfer.beats != 0) transfer.work += alone(transfer, transfer.due - since);
        left = transfer.work;
        density = transfer.work != 0.0 ? static_cast<double>(transfer.beats) / transfer.work : 0.0;
        current = transfer;
    }

    double alone(const Transfer &transfer, double since) const {
        double first = static_cast<double>(std::min(transfer.first, transfer.beats));
        double pace = static_cast<double>(ports_) - transfer.work / static_cast<double>(transfer.beats);
        return std::max(0.0, first * pace - since);
    }

    void address(Transfer &transfer) {
        double size = transfer.work / static_cast<double>(transfer.bursts);
        double delay = static_cast<double>(read_ + turn_);
        i64 free = places_ - static_cast<i64>(ends_.size());
        if (free == 0 && ends_[0] + delay > transfer.due) transfer.due = ends_[0] + delay;
        transfer.due = std::max(transfer.due, asked_for(0));
        double own = transfer.due + size;
        i64 most = together(transfer, size);
        for (i64 burst = std::max<i64>(1, free); burst < most; burst++) {
            double end = burst < places_ ? ends_[at(burst - free)]
                                         : own + static_cast<double>(burst - places_) * size;
            if (end + delay > transfer.due + static_cast<double>(burst) * size + EPSILON) {
                most = burst;
                break;
            }
            if (burst > places_) break;
        }
        if (most < transfer.bursts) split(transfer, most);
    }

    // Bursts that are asked for in time, for all that the beats on the way say.
    i64 together(const Transfer &transfer, double size) const {
        if (ahead_ == UNKNOWN) return transfer.bursts;
        i64 beats = ceil_div(transfer.beats, transfer.bursts);
        for (i64 burst = 1; burst < transfer.bursts; burst++) {
            if (burst * beats > ahead_) {
                double pace = static_cast<double>(ahead_) * transfer.work / static_cast<double>(transfer.beats);
                return static_cast<double>(read_ + timing::AHEAD_TURN) > pace + EPSILON ? burst : transfer.bursts;
            }
            if (asked_for(burst * beats) > transfer.due + static_cast<double>(burst) * size + EPSILON) return burst;
        }
        return transfer.bursts;
    }

    // When DRAM can serve the burst behind so many beats of the current transfer, for all that those on the way say.
    double asked_for(i64 beats) const {
        if (ahead_ == UNKNOWN) return -NEVER;
        i64 served = begun_ + beats - ahead_;
        for (auto span = spans_.rbegin(); span != spans_.rend(); ++span)
            if (span->first < served)
                return span->begin + static_cast<double>(served - span->first) * span->pace +
                       static_cast<double>(read_ + timing::AHEAD_TURN);
        return -NEVER;
    }

    void split(Transfer &transfer, i64 bursts) {
        double share = static_cast<double>(bursts) / static_cast<double>(transfer.bursts);
        i64 beats = rounded(static_cast<double>(transfer.beats) * share);
        Transfer rest = transfer;
        rest.beats -= beats, rest.work *= 1 - share, rest.gap = 0, rest.bursts -= bursts;
        queue.push_front(rest);
        transfer.beats = beats, transfer.work *= share, transfer.bursts = bursts, transfer.last = false;
    }
};

struct Burst {
    i64 number, beats;
    double asked, behind = NEVER;
};

class Bus {
  public:
    // Beats that may be on their way when another burst is asked for.
    const i64 ahead;

  private:
    i64 ports_, places_;

  public:
    // From DRAM taking an address to the read of the first beat, as the machine sees it.
    const i64 read;

    Bus(i64 asked, i64 ports, i64 read_ahead, i64 dram_read)
        : ahead(read_ahead - 1), ports_(ports), places_(std::min(asked, timing::DRAM_BURSTS * ports)),
          read(dram_read + (ports > 1 ? timing::BRIDGE_READ : 0)),
          reads(places_, asked < timing::DRAM_BURSTS * ports ? timing::READ_TURN : 0, read, ports, ahead),
          writes(timing::DRAM_BURSTS, 0, timing::DRAM_READ, ports) {}

    double now = 0.0;
    Stream reads, writes;
    std::vector<std::pair<Transfer, double>> read_done, write_done;
    std::vector<std::pair<i64, double>> fetched;
    double read_speed = 1.0, write_speed = 1.0;
    bool watched = false;

    void fetch(i64 number, i64 beats, i64 asked) { fetches_.push_back({number, beats, static_cast<double>(asked)}); }

    bool happened() const { return !read_done.empty() || !write_done.empty() || !fetched.empty() || watched; }

    bool step(double until = NEVER) {
        bool fetching = fetch_left_ > 0, reading = false, writing = false, blocked = false, apart = false;
        double then = NEVER;
        if (!fetches_.empty() && look_at_fetches(fetching, then, blocked)) return true;
        if (reads.current) {
            apart = reads.current->beats == 0 || (fetching && buffered_ > EPSILON);
            if (apart || !(fetching || blocked)) {
                if (reads.current->due <= now) reading = true;
                else then = std::min(then, reads.current->due);
            }
        }
        if (writes.current) {
            if (writes.current->due <= now) writing = true;
            else then = std::min(then, writes.current->due);
        }
        double reading_speed = 1.0, writing_speed = 1.0;
        if (writing && (reading || fetching)) {
            double read_density = fetching ? 1.0 : reads.density, write_density = writes.density;
            if (read_density + write_density > 1.0) {
                reading_speed = std::min(1.0, std::max(0.5, 1.0 - write_density) / read_density);
                writing_speed = std::min(1.0, std::max(0.5, 1.0 - read_density) / write_density);
            }
        }
        double own_speed = apart ? 1.0 : reading_speed;
        read_speed = own_speed, write_speed = writing_speed;
        if (fetching) then = std::min(then, now + fetch_left_ / reading_speed);
        if (reading) then = std::min(then, now + read_span(own_speed, fetching));
        if (writing) {
            double span = writes.left / writing_speed;
            if (writes.watch < NEVER)
                span = std::min(span, std::max(0.0, (writes.watch - writes.served) / (writing_speed * writes.density)));
            then = std::min(then, now + span);
        }
        if (then > until || then == NEVER) return false;

        double passed = then - now;
        now = then;
        if (fetching) {
            fetch_left_ -= passed * reading_speed;
            if (fetch_left_ < EPSILON) {
                fetch_left_ = 0.0;
                fetches_.pop_front();
                reads.free({then});
            }
            if (reading) buffered_ -= passed * reads.density;
        }
        if (reading) serve(reads, passed * own_speed, read_done);
        if (writing) serve(writes, passed * writing_speed, write_done);
        return true;
    }

  private:
    std::deque<Burst> fetches_;
    double fetch_left_ = 0.0, buffered_ = 0.0;

    double read_span(double speed, bool fetching) const {
        double span = reads.left / speed, rate = speed * reads.density;
        if (rate == 0.0) return span;
        if (fetching) {
            span = std::min(span, buffered_ / rate);
        } else if (!fetches_.empty() && fetches_.front().behind < NEVER) {
            double ahead = fetches_.front().behind - reads.served, before = ahead - packed();
            span = std::min(span, (before > EPSILON ? before : ahead) / rate);
        }
        if (reads.watch < NEVER) span = std::min(span, std::max(0.0, (reads.watch - reads.served) / rate));
        return span;
    }

    // Whether a fetch begins now.
    bool look_at_fetches(bool fetching, double &then, bool &blocked) {
        for (Burst &burst : fetches_) {
            if (burst.behind != NEVER) continue;
            if (burst.asked > now) then = std::min(then, burst.asked);
            else burst.behind = std::min(reads.served + on_the_way(burst), static_cast<double>(reads.asked));
        }
        Burst &burst = fetches_.front();
        if (fetching || burst.behind > reads.served + packed() + EPSILON) return false;
        double due = burst.asked + static_cast<double>(read);
        if (due > now) {
            then = std::min(then, due);
            blocked = burst.behind <= reads.served + EPSILON;
            return false;
        }
        double beats = static_cast<double>(burst.beats);
        fetch_left_ = beats + std::max(0.0, beats * static_cast<double>(ports_ - 1) - (now - due));
        buffered_ = std::max(0.0, burst.behind - reads.served);
        fetched.emplace_back(burst.number, now);
        return true;
    }

    double packed() const {
        bool slow = reads.current && reads.current->due <= now && reads.density < 1.0;
        return slow ? static_cast<double>(reads.current->chunks) : 0.0;
    }

    void serve(Stream &stream, double work, std::vector<std::pair<Transfer, double>> &done) {
        stream.left -= work;
        stream.served += work * stream.density;
        if (stream.served + EPSILON >= stream.watch) watched = true;
        if (stream.left < EPSILON) done.emplace_back(stream.finish(now), now);
    }

    double on_the_way(Burst &fetch) const {
        if (!reads.current) return 0.0;
        const Transfer &current = *reads.current;
        double left = reads.left * reads.density, size = current.burst_beats();
        double served = size != 0.0 ? std::fmod(left, size) : 0.0;
        double asked = std::min({left, asked_of(current), served + whole(served, size)});
        if (asked < left) return asked;
        double count = left, most = static_cast<double>(places_ + bus::SLICE);
        if (!current.last) {
            // DRAM's queue is full.
            double begun = std::max(now, current.due);
            fetch.asked = std::max(
                fetch.asked, begun + static_cast<double>(bus::SLICE + 1) * current.work / static_cast<double>(current.bursts));
            return count + std::min(static_cast<double>(reads.queue.front().beats), std::max(0.0, most * size - count));
        }
        double bursts = size != 0.0 ? count / size : 0.0;
        for (const Transfer &transfer : reads.queue) {
            size = transfer.burst_beats();
            double places = std::max(0.0, most - bursts) * size, beats = static_cast<double>(transfer.beats);
            asked = std::min({asked_of(transfer), whole(count, size), places});
            count += std::min(beats, asked);
            bursts += static_cast<double>(transfer.bursts);
            if (asked < beats) break;
        }
        return count;
    }

    double asked_of(const Transfer &transfer) const {
        double since = now - transfer.due + static_cast<double>(read) + 1.0;
        return std::max(0.0, since) * static_cast<double>(transfer.beats) /
               static_cast<double>(std::max<i64>(1, transfer.bursts));
    }

    double whole(double count, double size) const {
        if (size == 0.0) return 0.0;
        return std::max(0.0, floor_div(static_cast<double>(ahead) - count, size) + 1.0) * size;
    }
};

}  // namespace cycle
