// Some queries side by side: registers of several lanes, and the matrices of a batch.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "interface.hpp"

namespace {

#if defined(__AVX512F__)
constexpr int MOST_LANES = 8;  // of 64 bits in a register
#elif defined(__AVX2__)
constexpr int MOST_LANES = 4;
#else
constexpr int MOST_LANES = 2;
#endif
constexpr int64_t MOST_IN_A_NETWORK = 768;  // longer lists are sorted faster by their digits
constexpr int MOST_GRADE_BITS = 8;  // of a sort key; more distinct grades than that are looked up after the sort
constexpr int64_t FEW_GRADES = 32;  // so many grades are counted, and as many as a list has documents,
constexpr int64_t MOST_COUNTED_GRADES = 255;  // but never more than these; else the documents are sorted
constexpr int64_t HIGHEST = std::numeric_limits<int64_t>::max();
constexpr double NEGLIGIBLE = 0x1p-60;  // a smaller probability of reaching a rank does not change the result
constexpr double UNCOUNTED =
    0x1p-200;  // a smaller share of the largest one, even times e^100, changes no sum of shares
constexpr int64_t LARGEST_POWER = 1000;  // of 2, up to which a coefficient of a polynomial may grow
constexpr int64_t USUAL_RANKS = 16;      // to ask how many ranks are reached pays after so many

inline int bits_for(int64_t n) {
    int bits = 0;
    while ((int64_t{1} << bits) < n) bits++;
    return bits;
}

template <class T, int LANES>
struct Register {
    typedef T type __attribute__((vector_size(sizeof(T) * LANES)));
};
template <class T>
struct Register<T, 1> {  // GCC would keep a register of one lane in memory
    using type = T;
};
template <int LANES>
using Doubles = typename Register<double, LANES>::type;
template <int LANES>
using Integers = typename Register<int64_t, LANES>::type;
template <int LANES>
using Grades = typename Register<int32_t, LANES>::type;

// What differs between a register of several lanes and one number.
template <class R>
auto at(const R& lanes, int lane) {
    if constexpr (std::is_arithmetic_v<R>) return lanes;
    else return lanes[lane];
}
template <class R, class T>
void set(R& lanes, int lane, T value) {
    if constexpr (std::is_arithmetic_v<R>) lanes = value;
    else lanes[lane] = value;
}
template <class Condition>
auto mask(const Condition& lanes) {  // all bits of a lane are set where it is true, and none elsewhere
    if constexpr (std::is_arithmetic_v<Condition>) return -int64_t{lanes};
    else return lanes;
}
template <class To, class R>
To narrow(const R& lanes) {
    if constexpr (std::is_arithmetic_v<R>) return static_cast<To>(lanes);
    else return __builtin_convertvector(lanes, To);
}
template <class Mask>
bool is_any(const Mask& lanes) {  // whether any lane is true
    uint64_t words[(sizeof lanes + 7) / 8] = {}, any = 0;
    std::memcpy(words, &lanes, sizeof lanes);
    for (const uint64_t word : words) any |= word;
    return any;
}
template <class R>
int64_t largest(const R& counts) {
    auto most = at(counts, 0);
    for (int lane = 1; lane < int(sizeof counts / sizeof most); lane++) most = std::max(most, at(counts, lane));
    return static_cast<int64_t>(most);
}
template <class R>
R at_least(double lowest, const R& lanes) {
    return lanes > lowest ? lanes : R{} + lowest;
}

// An array with room for a number of values that is set once a batch. It needs no C++ library when the core is loaded.
template <class T>
class Array {
    void* memory = nullptr;
    T* first = nullptr;
    int64_t n = 0, room = -1;  // so the first batch gets an address, even if it has no documents

  public:
    Array() = default;
    Array(const Array&) = delete;
    ~Array() { std::free(memory); }

    bool make_room(int64_t n_values) {  // and forget the values; false if there is not enough memory
        n = 0;
        if (n_values <= room) return true;
        std::free(memory);
        n_values = std::max(n_values, 2 * room);  // the next batches are longer
        memory = std::malloc(n_values * sizeof(T) + 64);
        room = memory ? n_values : 0;
        first = reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(memory) + 63) / 64 * 64);  // as registers need it
        return memory != nullptr;
    }
    void push_back(const T& value) { first[n++] = value; }
    void clear() { n = 0; }
    int64_t size() const { return n; }
    T* begin() const { return first; }
    T* end() const { return first + n; }
    T& operator[](int64_t i) const { return first[i]; }
};

// Adds a number, or several side by side, to a sum, and what the addition loses to `lost` (Knuth's TwoSum).
template <class T>
void add(const T& value, T& sum, T& lost) {
    const T longer = sum + value, added = longer - sum;
    lost += (sum - (longer - added)) + (value - added);
    sum = longer;
}

// The sum with what its additions lost, which is NaN where the sum is infinite.
template <class T>
T complete(const T& sum, const T& lost) {
    const T whole = sum + lost;
    return whole == whole ? whole : sum;
}

// Removes a share of the remaining users, in all lanes, and returns the part removed; `lost` is what `left` has lost.
// Where the share is small, 1 - share would be rounded, and thousands of factors would add that up.
template <class T>
T leave(const T& share, T& left, T& lost) {
    const T others = 1.0 - share, leaving = share * left, rest = left - leaving, all_leaving = leaving + share * lost;
    lost = lost * others + (share < 0.5 ? (left - rest) - leaving : T{});
    left = share < 0.5 ? rest : left * others;
    return all_leaving;
}

// What a mean over the values that are not NaN consists of: the sum of weight * value and that of the weights, what
// their additions have lost, and the factor by which the weights were multiplied.
struct SumsOfMean {
    double sum, lost, weight, weight_lost, scale;
    double mean() const { return complete(sum, lost) / complete(weight, weight_lost); }
};

// Returns a power of two that brings the largest weight of a value near 1. It changes no digit of a mean, except where
// weights are so small that they have few digits themselves, and products with them would have fewer.
inline double scale_of_weights(const double* x, const double* weight, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) largest = x[i] == x[i] && weight[i] > largest ? weight[i] : largest;
    int exponent;
    std::frexp(largest, &exponent);
    return std::ldexp(1.0, std::clamp(-exponent, -1022, 1023));  // neither subnormal nor infinite
}

// Without weights, each value has the weight 1; the digits are those of weights of 1.
template <bool IS_WEIGHTED>
SumsOfMean sums_of_mean(const double* x, const double* weight, int64_t n) {
    const double scale = IS_WEIGHTED ? scale_of_weights(x, weight, n) : 1.0;
    Doubles<8> sums = {}, losts = {}, weights = {}, weights_lost = {};
    for (int64_t i = 0; i < n; i += 8) {
        Doubles<8> value, w = Doubles<8>{} + 1.0;
        for (int lane = 0; lane < 8; lane++) {
            value[lane] = i + lane < n ? x[i + lane] : NAN;
            if constexpr (IS_WEIGHTED) w[lane] = i + lane < n ? weight[i + lane] * scale : 0.0;
        }
        w = value == value ? w : Doubles<8>{};
        add(value == value ? (IS_WEIGHTED ? w * value : value) : Doubles<8>{}, sums, losts);
        if constexpr (IS_WEIGHTED) add(w, weights, weights_lost);
        else weights += w;
    }
    SumsOfMean all = {0, 0, 0, 0, scale};
    for (int lane = 0; lane < 8; lane++) {
        add(sums[lane], all.sum, all.lost), all.lost += losts[lane];
        add(weights[lane], all.weight, all.weight_lost), all.weight_lost += weights_lost[lane];
    }
    return all;
}

template <int LANES>
struct Run {  // documents of one grade: in a tie, or in the list of each lane
    Grades<LANES> grade;
    Doubles<LANES> n, stop;  // how many; the probability to stop at each, see `stops_in_tie`
};

// Writes sorted documents as runs of one grade in each lane. The grade 0 is no document.
template <int LANES, class GradeAt>
void write_runs(Array<Run<LANES>>& runs, int64_t begin, int64_t end, GradeAt grade_at) {
    runs.clear();
    Run<LANES> run = {};
    for (int64_t i = begin; i < end; i++) {
        const Grades<LANES> grade = grade_at(i);
        if (i > begin && is_any(mask(grade != run.grade))) runs.push_back(std::exchange(run, Run<LANES>{}));
        run.grade = grade;
        run.n += narrow<Doubles<LANES>>(grade > 0 ? Grades<LANES>{} + 1 : Grades<LANES>{});
    }
    runs.push_back(run);
}

template <int LANES>
struct PartOfTie {  // the documents of a tie down to one rank
    Doubles<LANES> above, hits,
        size;                  // the sum of the values above the tie; how many in it are above 0, and how many in all
    Integers<LANES> is_mixed;  // whether the values differ
};

// The matrices of some queries. Later batches use their memory again.
template <int LANES>
struct Batch {
    const Documents& all;
    int n_lanes = 0;                               // queries; further lanes are padding
    int64_t query[LANES], first[LANES], n[LANES];  // n documents of each, from the offset `first` on
    int64_t width = 0;
    Doubles<LANES> size = {};               // n as numbers
    int position_bits = 0, order_bits = 0;  // of a key
    Array<Integers<LANES>> key;
    Array<int64_t> score;  // as integers, lane after lane, by position in the query
    Array<Grades<LANES>> grade;
    Array<Integers<LANES>> is_tied;  // whether a document has the score of the next one (all bits are set)
    bool has_ties = false;
    Array<Doubles<LANES>> term, so_far;  // what each rank adds to a sum, and what has been accumulated there
    Array<Doubles<LANES>> stop;          // the probability to stop at each rank, for a user who reaches it
    Array<PartOfTie<LANES>> part;
    Array<Run<LANES>> runs;                                          // of the whole lists, if they are ranked by grade
    Array<Run<1>> runs_of_tie;                                       // see `count_grades`
    Array<double> t;                                                 // of the ranks of one tie
    Array<Doubles<LANES>> spare;                                     // see `stops_in_tie`
    Array<std::tuple<int64_t, int64_t, int64_t, int64_t>> unsorted;  // documents that `repair` sorts

    explicit Batch(const Documents& documents) : all(documents) {}

    bool take(const int64_t* queries, int n_queries) {  // false if there is not enough memory
        n_lanes = n_queries, width = 0;
        for (int lane = 0; lane < LANES; lane++) {
            query[lane] = queries[lane < n_lanes ? lane : 0];
            first[lane] = all.start[query[lane]];
            n[lane] = lane < n_lanes ? all.start[query[lane] + 1] - first[lane] : 0;
            width = std::max(width, n[lane]);
            set(size, lane, static_cast<double>(n[lane]));
        }
        return key.make_room(width) && score.make_room(width * LANES) && grade.make_room(width) &&
               term.make_room(width) && so_far.make_room(width) && is_tied.make_room(width) && part.make_room(width) &&
               stop.make_room(width) && runs.make_room(std::max(width, MOST_COUNTED_GRADES)) &&
               runs_of_tie.make_room(width) && unsorted.make_room(width) && t.make_room(width + 1) &&
               spare.make_room(5 * width);
    }

    int64_t row_at(int64_t document) const { return all.rows ? all.rows[document] : document; }
    int64_t position(int64_t rank, int lane) const { return at(key[rank], lane) & ((int64_t{1} << position_bits) - 1); }
    int64_t score_at(int64_t rank, int lane) const { return score[lane * width + position(rank, lane)]; }
    int64_t row(int64_t rank, int lane) const { return row_at(first[lane] + position(rank, lane)); }
    int64_t end_of_tie(int64_t rank, int lane) const {  // of the tie that begins there
        while (at(is_tied[rank], lane)) rank++;
        return rank + 1;
    }
    int64_t with_whole_ties(int64_t depth) const {
        while (has_ties && depth < width && is_any(is_tied[depth - 1])) depth++;
        return depth;
    }
    void count_grades(int lane, int64_t begin, int64_t end) {  // of a tie
        write_runs<1>(runs_of_tie, begin, end, [&](int64_t i) { return at(grade[i], lane); });
    }
};

// Writes a value for each document by its grade.
template <int LANES>
void look_up(const double* by_grade, Batch<LANES>& batch, int64_t begin, int64_t end) {
    const int32_t* grade = reinterpret_cast<const int32_t*>(batch.grade.begin());
    double* term = reinterpret_cast<double*>(batch.term.begin());
    for (int64_t i = begin * LANES; i < end * LANES; i++) term[i] = by_grade[grade[i]];
}
template <int LANES>
Doubles<LANES> value_of(const double* by_grade, const Run<LANES>& run) {
    Doubles<LANES> value;
    for (int lane = 0; lane < LANES; lane++) set(value, lane, by_grade[at(run.grade, lane)]);
    return value;
}

}  // namespace
