// Numbers as Python has them: what is computed with them is equal in every bit.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace cycle {

using i64 = std::int64_t;
using u64 = std::uint64_t;

constexpr double NEVER = std::numeric_limits<double>::infinity();
constexpr i64 UNKNOWN = -1;

inline i64 floor_div(i64 a, i64 b) {
    i64 quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

inline i64 ceil_div(i64 a, i64 b) { return -floor_div(-a, b); }

inline double floor_div(double a, double b) {
    double rest = std::fmod(a, b), quotient = (a - rest) / b;
    if (rest != 0.0 && (b < 0) != (rest < 0)) quotient -= 1.0;
    double whole = std::floor(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

inline i64 ceiling(double value) { return static_cast<i64>(std::ceil(value)); }

inline std::size_t at(i64 number) { return static_cast<std::size_t>(number); }

// A half goes to the even number, which is how the processor rounds unless told otherwise.
inline i64 rounded(double value) { return static_cast<i64>(std::nearbyint(value)); }

}  // namespace cycle
