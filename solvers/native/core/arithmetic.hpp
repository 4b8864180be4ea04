// Division that rounds to one side, and the offsets that an alignment allows.
#pragma once

#include "core/instance.hpp"

namespace memstow {

// b > 0 in all of these.
template <class T>
constexpr T floor_div(T a, T b) {
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}
template <class T>
constexpr T ceil_div(T a, T b) {
    return a > 0 ? (a + b - 1) / b : -(-a / b);
}
// From 0 to b - 1.
template <class T>
constexpr T floor_mod(T a, T b) {
    const T rest = a % b;
    return rest < 0 ? rest + b : rest;
}

// The least value >= x that is residue modulo modulus, and the greatest <= x.
constexpr Bytes align_up(Bytes x, Bytes modulus, Bytes residue) {
    return x + floor_mod(residue - x, modulus);
}
constexpr Bytes align_down(Bytes x, Bytes modulus, Bytes residue) {
    return x - floor_mod(x - residue, modulus);
}

// The least offset >= x that the choice's alignment allows, and the greatest <= x. Most have none.
inline Bytes raised(const Choice& choice, Bytes x) {
    return choice.modulus == 1 ? x : align_up(x, choice.modulus, choice.residue);
}
inline Bytes lowered(const Choice& choice, Bytes x) {
    return choice.modulus == 1 ? x : align_down(x, choice.modulus, choice.residue);
}

}  // namespace memstow
