// Pairs of a number and a value, as LETOR files have them: "1:0.25 3:17\n2:1e-3". Needs nothing of the other files.
//
// It reads what programs usually write, and correctly rounded. The rest is left to Python: a text of another form as a
// whole, and single numbers whose rounding is hard.
#pragma once

#include <cstdint>

namespace {

constexpr int MOST_DIGITS = 19;  // of a number that 64 bits surely hold
const double POWERS_OF_TEN[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};  // all are exact
constexpr int LAST_POWER = 22;

struct Decimal {  // digits * 10^exponent
    uint64_t digits = 0;
    int n_digits = 0;  // without leading zeros
    int64_t exponent = 0;
};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// Reads digits from `at` on, and returns where they end.
inline const char* read_digits(const char* at, Decimal& number) {
    for (; is_digit(*at); at++) {
        number.digits = 10 * number.digits + static_cast<uint64_t>(*at - '0');
        number.n_digits += number.n_digits || *at != '0';
    }
    return at;
}

// Splits a number into two halves of 26 bits, whose products are exact (Veltkamp).
inline void split(double x, double& high, double& low) {
    const double c = 134217729.0 * x;
    high = c - (c - x), low = x - high;
}

// Returns digits / power, for more than 53 bits of digits, and whether it is surely the nearest double.
inline bool divide(uint64_t digits, double power, double& quotient) {
    const double high = static_cast<double>(digits & ~uint64_t{0x7FF}), low = static_cast<double>(digits & 0x7FF);
    const double first = high / power, product = first * power;
    double a, b, c, d;
    split(first, a, b), split(power, c, d);
    const double lost = ((a * c - product) + a * d + b * c) + b * d;  // of the product (Dekker)
    const double rest = (((high - product) - lost) + low) / power, doubt = 0x1p-50 * (rest < 0 ? -rest : rest);
    quotient = first + rest;
    return first + (rest - doubt) == first + (rest + doubt);
}

// Writes the nearest double, and returns whether it is surely the nearest one.
inline bool round_decimal(const Decimal& number, double& value) {
    const int64_t e = number.exponent;
    value = static_cast<double>(number.digits);
    if (number.n_digits > MOST_DIGITS) return false;
    if (number.digits == 0 || e == 0) return true;
    if (e < -LAST_POWER || e > LAST_POWER) return false;
    if (number.digits >> 53) return e < 0 && divide(number.digits, POWERS_OF_TEN[-e], value);
    value = e < 0 ? value / POWERS_OF_TEN[-e] : value * POWERS_OF_TEN[e];  // of two exact numbers
    return true;
}

// Reads a number from `at` on, and returns where it ends, or null if there is none.
inline const char* read_value(const char* at, double& value, bool& is_sure, int64_t& has_long) {
    const bool is_negative = *at == '-';
    at += is_negative || *at == '+';
    Decimal number;
    const char* const whole = at;
    at = read_digits(at, number);
    int64_t n = at - whole;
    if (*at == '.') {
        const char* const fraction = ++at;
        at = read_digits(at, number);
        number.exponent = fraction - at, n += at - fraction;
    }
    if (n == 0) return nullptr;
    if (*at == 'e' || *at == 'E') {
        const bool is_small = *++at == '-';
        at += is_small || *at == '+';
        Decimal exponent;
        const char* const end = read_digits(at, exponent);
        if (end == at) return nullptr;
        if (end - at > 2) has_long = 1;
        if (exponent.n_digits > 4) exponent.digits = 10000;
        number.exponent += is_small ? -static_cast<int64_t>(exponent.digits) : static_cast<int64_t>(exponent.digits);
        at = end;
    }
    is_sure = round_decimal(number, value);
    if (is_negative) value = -value;
    return at;
}

// Reads all pairs of a text that ends with a null character. Each line must have ascending numbers of at most 18
// digits. Writes the number and the value of each pair, how many pairs there are up to the end of each line, and for
// each value that is left to Python the pair and the offset at which it begins. A pair and the white space behind it
// take four bytes, which is what limits their number. Returns the number of values that are left, or -1 if the text has
// another form. `has_long` becomes 1 if a value has more than 15 characters, or an exponent of more than two digits.
int64_t read_pairs(const char* text, int64_t n_bytes, int64_t* number, double* value, int64_t* end, int64_t* left,
                   int64_t* has_long) {
    const char* at = text;
    int64_t n_pairs = 0, n_left = 0, last = -1;
    for (; at < text + n_bytes; at++) {
        if (*at == '\n') *end++ = n_pairs, last = -1;
        if (*at == '\n' || *at == ' ' || *at == '\t' || *at == '\r') continue;
        Decimal feature;
        if (!is_digit(*at)) return -1;
        at = read_digits(at, feature);
        if (*at != ':' || feature.n_digits >= MOST_DIGITS) return -1;
        if (static_cast<int64_t>(feature.digits) <= last) return -1;
        const char* const begin = ++at;
        bool is_sure;
        at = read_value(at, value[n_pairs], is_sure, *has_long);
        if (at == nullptr) return -1;
        if (*at != ' ' && *at != '\n' && *at != '\t' && *at != '\r' && at != text + n_bytes) return -1;
        number[n_pairs] = last = static_cast<int64_t>(feature.digits);
        if (!is_sure) left[2 * n_left] = n_pairs, left[2 * n_left + 1] = begin - text, n_left++;
        if (at - begin > 15) *has_long = 1;
        n_pairs++;
        if (*at == '\n') *end++ = n_pairs, last = -1;
    }
    *end = n_pairs;
    return n_left;
}

}  // namespace
