// True dependences between instructions, from what they read and write: hazards.py.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "layout.h"

namespace schedule {

inline std::size_t at(i64 number) { return static_cast<std::size_t>(number); }

struct Access {
    i64 space, start, length, count, stride;
};

// Of instruction n: what it reads begins at 2n of ``begins``, what it writes at 2n + 1.
struct Program {
    i64 count;
    const i64 *units, *cycles, *parameters, *begins;
    const Access *accesses;
    const i64 *sizes;
};

// Numbers of instructions, each once.
class Met {
  public:
    explicit Met(i64 count) : seen_(at(count), -1) {}

    void add(std::vector<i64> &found, i64 number, i64 whose) {
        if (number < 0 || seen_[at(number)] == whose) return;
        seen_[at(number)] = whose;
        found.push_back(number);
    }

  private:
    std::vector<i64> seen_;
};

struct Hazards {
    std::vector<i64> before, finished;
};

// Runs of granules that an access touches; runs that meet in a granule are one.
struct Granules {
    i64 start, count, stride, length;

    explicit Granules(const Access &access) : start(0), count(access.count), stride(access.stride), length(access.length) {
        i64 granule = GRANULE[access.space];
        if (granule > 1) {
            if (count == 1 || stride < granule || stride % granule != 0 || access.start % granule != 0) {
                i64 span = stride * (count - 1) + length;
                count = 1, stride = 0, length = (access.start % granule + span + granule - 1) / granule;
            } else {
                stride /= granule, length = (length + granule - 1) / granule;
            }
        } else if (count == 1 || stride < 1) {
            length = stride * (count - 1) + length, count = 1, stride = 0;
        }
        start = access.start / granule;
    }

    i64 end() const { return start + stride * (count - 1) + length; }

    template <typename Visit>
    void each(Visit visit) const {
        for (i64 run = 0; run < count; run++)
            for (i64 granule = start + run * stride, stop = granule + length; granule < stop; granule++) visit(at(granule));
    }
};

// Who wrote each granule last, and which of each unit's instructions read it last since.
class Table {
  public:
    using Row = std::vector<std::int32_t>;

    Row &writers() { return writers_; }
    Row &readers(i64 unit) {
        Row &row = readers_[unit];
        if (row.empty()) row.assign(writers_.size(), -1);
        return row;
    }
    Row *all_readers() { return readers_; }
    void open(i64 granules) { writers_.assign(at(granules), -1); }
    i64 granules() const { return static_cast<i64>(writers_.size()); }

  private:
    Row writers_, readers_[UNITS];
};

class Finder {
  public:
    explicit Finder(const Program &program) : program_(program), before_(program.count), finished_(program.count) {
        for (i64 space = 0; space < SPACES; space++)
            if (program.sizes[space] >= 0)
                tables_[space].open((program.sizes[space] + GRANULE[space] - 1) / GRANULE[space] + 1);
    }

    // False if an access lies outside its space.
    bool find(std::vector<Hazards> &found) {
        found.resize(at(program_.count));
        for (i64 index = 0; index < program_.count; index++) {
            const Access *reads = program_.accesses + program_.begins[2 * index];
            const Access *writes = program_.accesses + program_.begins[2 * index + 1];
            const Access *end = program_.accesses + program_.begins[2 * index + 2];
            for (const Access *access = reads; access < end; access++) {
                // Nobody writes constants.
                if (access < writes && access->space == CONST) continue;
                i64 start = access->start, stop = Granules(*access).end();
                if (start < 0 || stop > tables_[access->space].granules()) return false;
            }
            for (const Access *access = reads; access < writes; access++) look_at_read(index, *access, found[at(index)]);
            for (const Access *access = writes; access < end; access++) look_at_write(index, *access, found[at(index)]);
            for (const Access *access = reads; access < writes; access++) read(index, *access);
            for (const Access *access = writes; access < end; access++) write(index, *access);
        }
        return true;
    }

  private:
    const Program &program_;
    Met before_, finished_;
    Table tables_[SPACES];

    // Granules that lie together mostly have the same last writer, or reader.
    template <typename Add>
    static void each_change(const Table::Row &row, const Granules &granules, Add add) {
        std::int32_t last = -1;
        granules.each([&](std::size_t granule) {
            if (row[granule] != last) add(last = row[granule]);
        });
    }

    void look_at_read(i64 index, const Access &access, Hazards &found) {
        if (access.space == CONST) return;
        Granules granules(access);
        Table &table = tables_[access.space];
        each_change(table.writers(), granules, [&](i64 writer) {
            before_.add(found.before, writer, index);
            if (access.space != ACCUMULATOR) finished_.add(found.finished, writer, index);
        });
        each_change(table.readers(program_.units[index]), granules,
                    [&](i64 reader) { before_.add(found.before, reader, index); });
    }

    void look_at_write(i64 index, const Access &access, Hazards &found) {
        Granules granules(access);
        Table &table = tables_[access.space];
        auto add = [&](i64 other) {
            before_.add(found.before, other, index);
            if (other >= 0 && program_.units[other] != program_.units[index]) finished_.add(found.finished, other, index);
        };
        each_change(table.writers(), granules, add);
        for (i64 unit = 0; unit < UNITS; unit++)
            if (!table.all_readers()[unit].empty()) each_change(table.all_readers()[unit], granules, add);
    }

    void read(i64 index, const Access &access) {
        if (access.space == CONST) return;
        Table::Row &row = tables_[access.space].readers(program_.units[index]);
        Granules(access).each([&](std::size_t granule) { row[granule] = static_cast<std::int32_t>(index); });
    }

    // Whoever writes stands for all who have read.
    void write(i64 index, const Access &access) {
        Table &table = tables_[access.space];
        Granules granules(access);
        granules.each([&](std::size_t granule) { table.writers()[granule] = static_cast<std::int32_t>(index); });
        for (i64 unit = 0; unit < UNITS; unit++) {
            Table::Row &row = table.all_readers()[unit];
            if (!row.empty()) granules.each([&](std::size_t granule) { row[granule] = -1; });
        }
    }
};

}  // namespace schedule
