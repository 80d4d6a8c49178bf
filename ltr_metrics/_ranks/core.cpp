// The compiled core: it ranks the documents of every query, and adds up what metrics declare while the data of the query
// are in the processor's cache.
//
// Eight queries are processed side by side (four or two, where registers are narrower). A row of a matrix holds one rank
// of each of them, in a register of eight lanes, so the sort and the sums take one instruction for all eight:
//
//     lane     0    1    2   ...  7          queries of similar length; shorter ones are padded with "no document",
//     rank 1   .    .    .        .          whose grade index and values are 0
//     rank 2   .    .    .        .
//     rank 3   0    .    .        .
//
// Only the probabilities to stop in a tie of some documents are found query by query. A list of more than
// MOST_IN_A_NETWORK documents has matrices of one lane.
//
// A sum runs from the first rank to the last, and no operation is reordered or fused, so the digits of a query depend
// neither on its neighbours nor on the processor. `native.py` is the other side of the interface.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <utility>
#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>
#else
#include <pthread.h>
#include <sched.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static_assert(sizeof(void*) == 8, "native.py passes addresses of 64 bits");

namespace {

#if defined(__AVX512F__)
constexpr int MOST_LANES = 8;  // of 64 bits in a register
#elif defined(__AVX2__)
constexpr int MOST_LANES = 4;
#else
constexpr int MOST_LANES = 2;
#endif
constexpr int64_t MOST_IN_A_NETWORK = 768;  // longer lists are sorted faster by their digits
constexpr int MOST_GRADE_BITS = 8;          // of a sort key; more distinct grades than that are looked up after the sort
constexpr int64_t FEW_GRADES = 32;            // so many grades are counted, and in longer lists as many as documents, up
constexpr int64_t MOST_COUNTED_GRADES = 255;  // to this number; documents of more distinct grades than that are sorted
constexpr int64_t HIGHEST = std::numeric_limits<int64_t>::max();
constexpr double NEGLIGIBLE = 0x1p-60;      // a smaller probability of reaching a rank does not change the result
constexpr int64_t LARGEST_POWER = 1000;      // of 2, up to which a coefficient of a polynomial may grow
constexpr int64_t USUAL_RANKS = 16;         // so many ranks are cheaper than to ask how many are reached

enum Ties : int64_t { STABLE, WORST, BEST, DOCID, MEAN, IDEAL };  // the last one, and what follows it, needs no scores
enum Kind : int64_t { GAINS, PRECISIONS, CASCADE, PRECISIONS_BY_HITS };

}  // namespace

// -- what Python passes ---------------------------------------------------------------------------------------------

extern "C" {

struct Documents {           // of all queries
    int64_t n_queries;
    const int64_t* start;    // (n_queries + 1) where the ranked documents of each query begin
    const int64_t* rows;     // their rows in the input; null if these are 0, 1, 2, ...
    const int32_t* grade;    // by row, the grade index; 0 means "no document"
    const int64_t* docid;    // by row, the order of documents with equal scores; null except for DOCID
    int64_t n_grades;
    const int64_t* order;    // of the queries, in windows of so many: neighbours have similar lengths
    int64_t window;
    const double* score;     // by row; it and the treatment of ties differ from call to call
    Ties ties;
};

struct Declaration {         // of metrics that differ only in the cutoff
    Kind kind;
    int64_t n_cutoffs;
    const int64_t* cutoff;   // ascending
    const int64_t* out_row;  // row of the output for each cutoff
    const double* by_grade;  // a value for each grade index
    const double* by_row;    // or one for each row of the input; null if by grade
    const double* by_rank;   // a value for each rank
    const int64_t* by_rank_start;  // where each query's values by rank begin; null if all queries share them
    const double* by_query;  // a factor of by_grade for each query; null is 1
    const double* divisor;   // (cutoffs x queries)
    int64_t effective_depth; // further down, values by rank are negligible
};

}  // extern "C"

namespace {

// -- some queries side by side -----------------------------------------------------------------------------------------

template <class T, int LANES>
struct Register {
    typedef T type __attribute__((vector_size(sizeof(T) * LANES)));
};
template <class T>
struct Register<T, 1> {  // GCC would keep a register of one lane in memory
    using type = T;
};
template <int LANES> using Doubles = typename Register<double, LANES>::type;
template <int LANES> using Integers = typename Register<int64_t, LANES>::type;
template <int LANES> using Grades = typename Register<int32_t, LANES>::type;

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
R at_least(double lowest, const R& lanes) { return lanes > lowest ? lanes : R{} + lowest; }

// An array with room for a number of values that is set once a batch. It needs no C++ library when the core is loaded.
template <class T>
class Array {
    void* memory = nullptr;
    T* first = nullptr;
    int64_t n = 0, room = 0;

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

// Removes a share of the remaining users, in all lanes, and returns the part removed; `lost` is what `left` has lost. Where the share is small, 1 - share would be rounded, and thousands of factors would add that up.
template <class T>
T leave(const T& share, T& left, T& lost) {
    const T others = 1.0 - share, leaving = share * left, rest = left - leaving, all_leaving = leaving + share * lost;
    lost = lost * others + (share < 0.5 ? (left - rest) - leaving : T{});
    left = share < 0.5 ? rest : left * others;
    return all_leaving;
}

// The mean of the values that are not NaN.
double mean_of_numbers(const double* x, int64_t n) {
    Doubles<8> sums = {}, losts = {}, counts = {};
    for (int64_t i = 0; i < n; i += 8) {
        Doubles<8> value;
        for (int lane = 0; lane < 8; lane++) value[lane] = i + lane < n ? x[i + lane] : NAN;
        add(value == value ? value : Doubles<8>{}, sums, losts);
        counts += value == value ? Doubles<8>{} + 1.0 : Doubles<8>{};
    }
    double sum = 0, lost = 0, count = 0;
    for (int lane = 0; lane < 8; lane++) add(sums[lane], sum, lost), lost += losts[lane], count += counts[lane];
    return complete(sum, lost) / count;
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
    Doubles<LANES> above, hits, size;  // the sum of the values above the tie; how many in it are above 0, and how many in all
    Integers<LANES> is_mixed;          // whether the values differ
};

// The matrices of some queries. Later batches use their memory again.
template <int LANES>
struct Batch {
    const Documents& all;
    int n_lanes = 0;                   // queries; further lanes are padding
    int64_t query[LANES], first[LANES], n[LANES];  // n documents of each, from the offset `first` on
    int64_t width = 0;
    Doubles<LANES> size = {};          // n as numbers
    int position_bits = 0, order_bits = 0;  // of a key
    Array<Integers<LANES>> key;
    Array<int64_t> score;        // as integers, lane after lane, by position in the query
    Array<Grades<LANES>> grade;
    Array<Integers<LANES>> is_tied;     // whether a document has the score of the next one (all bits are set)
    bool has_ties = false;
    Array<Doubles<LANES>> term, so_far;       // what each rank adds to a sum, and what has been accumulated there
    Array<Doubles<LANES>> stop;               // the probability to stop at each rank, for a user who reaches it
    Array<PartOfTie<LANES>> part;
    Array<Run<LANES>> runs;            // of the whole lists, if they are ranked by grade
    Array<Run<1>> runs_of_tie;         // see `count_grades`
    Array<double> t;                   // of the ranks of one tie
    Array<Doubles<LANES>> spare;       // see `stops_in_tie`
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
        return key.make_room(width) && score.make_room(width * LANES) && grade.make_room(width) && term.make_room(width) &&
               so_far.make_room(width) && is_tied.make_room(width) && part.make_room(width) && stop.make_room(width) &&
               runs.make_room(std::max(width, MOST_COUNTED_GRADES)) && runs_of_tie.make_room(width) &&
               unsorted.make_room(width) && t.make_room(width + 1) && spare.make_room(5 * width);
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

// -- the sort -------------------------------------------------------------------------------------------------------
//
// Sorting one integer for each document ranks a query. From the high bits to the low ones it has
//
//     | score, so that smaller means higher | order of equal scores: the grade | position in the query |
//
// The last two overwrite the low bits of the score, so nearly equal scores can come out in the wrong order. Where two
// neighbours agree in the bits that are left, `find_ties` looks at the whole scores, and `repair` sorts them again.

inline int64_t bits_of(double score) {
    const double negated = 0.0 - score;  // never -0.0, which would come before 0.0
    int64_t bits;
    std::memcpy(&bits, &negated, sizeof bits);
    return bits;
}

inline int bits_for(int64_t n) {
    int bits = 0;
    while ((int64_t{1} << bits) < n) bits++;
    return bits;
}

// Batcher's merge exchange (Knuth, volume 3, 5.2.2, algorithm M): the same comparisons for any input, so lanes share them.
template <int LANES>
void sort_by_network(Integers<LANES>* key, int64_t n) {
    int64_t top = 1;
    while (2 * top < n) top *= 2;
    for (int64_t p = top; p > 0; p /= 2) {
        for (int64_t q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
            for (int64_t begin = r; begin < n - d; begin += 2 * p) {
                for (int64_t i = begin; i < std::min(begin + p, n - d); i++) {
                    const Integers<LANES> a = key[i], b = key[i + d];
                    key[i] = a < b ? a : b;
                    key[i + d] = a < b ? b : a;
                }
            }
            if (q == p) break;
        }
    }
}

// Sorts by digits of 11 bits, from the lowest above the position on; equal keys keep their order, which is the position.
void sort_by_digits(int64_t* key, int64_t* spare, int64_t n, int low_bits) {
    constexpr int BITS = 11, SIZE = 1 << BITS;
    const int64_t* const result = key;
    for (int shift = low_bits; shift < 64; shift += BITS) {
        int64_t count[SIZE] = {};
        const auto digit = [shift](int64_t k) { return (static_cast<uint64_t>(k) ^ (1ull << 63)) >> shift & (SIZE - 1); };
        for (int64_t i = 0; i < n; i++) count[digit(key[i])]++;
        if (count[digit(key[0])] == n) continue;
        int64_t total = 0;
        for (int64_t& c : count) total += std::exchange(c, total);
        for (int64_t i = 0; i < n; i++) spare[count[digit(key[i])]++] = key[i];
        std::swap(key, spare);
    }
    if (key != result) std::copy_n(key, n, spare);
}

template <int LANES>
void sort(Batch<LANES>& batch, int low_bits) {
    if constexpr (LANES > 1) sort_by_network<LANES>(batch.key.begin(), batch.width);
    else sort_by_digits(batch.key.begin(), reinterpret_cast<int64_t*>(batch.term.begin()), batch.width, low_bits);
}

// Sorts the documents from one rank to another of one query by score, then as the policy says, then by position.
template <int LANES>
void repair(Batch<LANES>& batch, int lane, int64_t begin, int64_t end) {
    const Documents& all = batch.all;
    batch.unsorted.clear();
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = batch.row(i, lane), grade = all.grade[row];
        const int64_t order = all.ties == STABLE ? 0 : all.ties == DOCID ? all.docid[row] : all.ties == BEST ? -grade : grade;
        batch.unsorted.push_back({batch.score_at(i, lane), order, batch.position(i, lane), at(batch.key[i], lane)});
    }
    std::sort(batch.unsorted.begin(), batch.unsorted.end());
    for (int64_t i = begin; i < end; i++) {
        set(batch.key[i], lane, std::get<3>(batch.unsorted[i - begin]));
        set(batch.grade[i], lane, all.grade[batch.row(i, lane)]);
    }
}

// Finds the ties among documents that agree in the bits of the score in the key, as `is_tied` says at first. Where some of
// a query are no ties, or where the key does not hold the order of ties, these documents are sorted again.
template <int LANES>
void find_ties(Batch<LANES>& batch, const Integers<LANES>& has_near, int64_t score_mask) {
    Integers<LANES> is_sorted_again = batch.all.ties == STABLE || batch.order_bits ? Integers<LANES>{} : has_near;
    for (int64_t i = 0; i + 1 < batch.width; i++) {
        const Integers<LANES> is_near = batch.is_tied[i];
        if (!is_any(is_near)) continue;
        Integers<LANES> score, next;
        for (int lane = 0; lane < LANES; lane++) {
            set(score, lane, batch.score_at(i, lane)), set(next, lane, batch.score_at(i + 1, lane));
        }
        batch.is_tied[i] &= mask(score == next);
        is_sorted_again |= is_near ^ batch.is_tied[i];
    }
    for (int lane = 0; lane < LANES; lane++) {
        for (int64_t begin = 0, end; at(is_sorted_again, lane) && begin < batch.n[lane]; begin = end) {
            const auto score = [&](int64_t i) { return at(batch.key[i], lane) & score_mask; };
            for (end = begin + 1; end < batch.n[lane] && score(end) == score(begin); end++) {}
            if (end == begin + 1) continue;
            repair(batch, lane, begin, end);
            for (int64_t i = begin; i + 1 < end; i++) {
                set(batch.is_tied[i], lane, mask(batch.score_at(i, lane) == batch.score_at(i + 1, lane)));
            }
        }
    }
    batch.has_ties = false;
    for (int64_t i = 0; i < batch.width; i++) batch.has_ties |= is_any(batch.is_tied[i]);
}

// Ranks the documents of a batch by descending grade.
template <int LANES>
void rank_by_grade(Batch<LANES>& batch) {
    const Documents& all = batch.all;
    const auto grade_at = [&](int lane, int64_t i) { return all.grade[batch.row_at(batch.first[lane] + i)]; };
    batch.has_ties = false;
    if (all.n_grades > std::clamp(batch.width, FEW_GRADES, MOST_COUNTED_GRADES)) {
        std::fill_n(batch.key.begin(), batch.width, Integers<LANES>{});
        for (int lane = 0; lane < LANES; lane++) {
            for (int64_t i = 0; i < batch.n[lane]; i++) set(batch.key[i], lane, -int64_t{grade_at(lane, i)});
        }
        sort(batch, 0);
        for (int64_t i = 0; i < batch.width; i++) batch.grade[i] = narrow<Grades<LANES>>(-batch.key[i]);
        return write_runs<LANES>(batch.runs, 0, batch.width, [&](int64_t i) { return batch.grade[i]; });
    }
    Grades<LANES> count[MOST_COUNTED_GRADES + 1], n = narrow<Grades<LANES>>(batch.size);
    std::fill_n(count, all.n_grades + 1, Grades<LANES>{});
    for (int64_t i = 0; i < batch.width; i++) {
        for (int lane = 0; lane < LANES; lane++) {  // neighbours in memory are counted one after the other
            if (i < batch.n[lane]) reinterpret_cast<int32_t*>(count)[grade_at(lane, i) * LANES + lane]++;
        }
    }
    std::fill_n(batch.grade.begin(), batch.width, Grades<LANES>{});
    batch.runs.clear();
    n -= count[0];
    for (int32_t grade = 1; grade <= all.n_grades; n -= count[grade++]) {  // to the first n documents, then to fewer
        if (!is_any(count[grade])) continue;
        batch.runs.push_back({Grades<LANES>{} + grade, narrow<Doubles<LANES>>(count[grade]), Doubles<LANES>{}});
        const int32_t most = largest(n);
        for (int32_t i = 0; i < most; i++) batch.grade[i] = i < n ? Grades<LANES>{} + grade : batch.grade[i];
    }
}

// Ranks the documents of a batch; returns a row whose score is NaN, or -1.
template <int LANES>
int64_t rank_batch(Batch<LANES>& batch) {
    const Documents& all = batch.all;
    if (all.ties == IDEAL) return rank_by_grade(batch), -1;
    const int grade_bits = bits_for(all.n_grades + 1);
    const bool is_best = all.ties == BEST;
    const bool key_has_grade = grade_bits <= MOST_GRADE_BITS && all.ties != STABLE && all.ties != DOCID;
    batch.position_bits = bits_for(batch.width);
    batch.order_bits = key_has_grade ? grade_bits : 0;
    const int64_t low = (int64_t{1} << (batch.position_bits + batch.order_bits)) - 1, n_grades = all.n_grades;
    bool loses_bits = false;  // whether a score has any where the key has none
    for (int lane = 0; lane < LANES; lane++) {
        int64_t* score = &batch.score[lane * batch.width];
        int64_t low_bits = 0;
        for (int64_t i = 0; i < batch.n[lane]; i++) {
            const int64_t row = batch.row_at(batch.first[lane] + i), bits = bits_of(all.score[row]);
            if (std::isnan(all.score[row])) return row;
            low_bits |= bits & low;
            score[i] = bits ^ ((bits >> 63) & HIGHEST);  // smaller integers are higher scores
            const int64_t grade = all.grade[row], order = key_has_grade ? (is_best ? n_grades - grade : grade) : 0;
            set(batch.key[i], lane, (score[i] & ~low) | order << batch.position_bits | i);
        }
        for (int64_t i = batch.n[lane]; i < batch.width; i++) {
            score[i] = HIGHEST;
            set(batch.key[i], lane, (HIGHEST & ~low) | i);
        }
        loses_bits |= low_bits != 0;
    }
    sort(batch, batch.position_bits);

    Integers<LANES> n, has_near = {};  // whether two documents of a query agree in the bits of the score
    for (int lane = 0; lane < LANES; lane++) set(n, lane, batch.n[lane]);
    for (int64_t i = 0; i < batch.width; i++) {
        const Integers<LANES> key = batch.key[i], order = (key & low) >> batch.position_bits;
        const Integers<LANES> grade = i < n ? (is_best ? n_grades - order : order) : Integers<LANES>{};
        batch.grade[i] = narrow<Grades<LANES>>(grade);
        const Integers<LANES> next = i + 1 < batch.width ? batch.key[i + 1] : Integers<LANES>{} + HIGHEST;
        batch.is_tied[i] = mask(((key ^ next) & ~low) == 0) & mask(i + 1 < n);
        has_near |= batch.is_tied[i];
    }
    for (int lane = 0; lane < LANES && !key_has_grade; lane++) {
        for (int64_t i = 0; i < batch.n[lane]; i++) set(batch.grade[i], lane, all.grade[batch.row(i, lane)]);
    }
    batch.has_ties = is_any(has_near);
    if (batch.has_ties && (loses_bits || (all.ties != STABLE && !key_has_grade))) find_ties(batch, has_near, ~low);
    batch.has_ties &= all.ties == MEAN;
    return -1;
}

// -- the three kinds of sums ----------------------------------------------------------------------------------------
//
// Each writes what the first ranks add to the sum, as the mean over all orders of tied documents: first as if no order
// were open; then a walk down the ranks adds up each tie, and one up the ranks hands the result to all of its documents.
// A tie of equal values keeps them, because rounding could lift a perfect ranking above 1. A random order is a tie of all
// documents, whose mean follows from the number of documents of each grade.

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

// What a rank adds: by_grade[g] x by_rank[rank]. In a tie it is the mean of the documents.
template <int LANES>
void gains(const Declaration& declared, Batch<LANES>& batch, int64_t depth) {
    const int64_t end = batch.with_whole_ties(depth);
    if (declared.by_row) {
        for (int lane = 0; lane < LANES; lane++) {
            for (int64_t i = 0; i < end; i++) {
                set(batch.term[i], lane, i < batch.n[lane] ? declared.by_row[batch.row(i, lane)] : 0.0);
            }
        }
    } else {
        look_up(declared.by_grade, batch, 0, end);
    }
    if (!batch.has_ties) return;
    const Doubles<LANES> zero = {};
    Doubles<LANES> sum = {}, lost = {}, n = {}, before = {};
    Integers<LANES> is_equal = {};
    for (int64_t i = 0; i < end; i++) {
        const Integers<LANES> continues = i ? batch.is_tied[i - 1] : Integers<LANES>{};
        const Doubles<LANES> value = batch.term[i];
        is_equal = (is_equal & mask(value == before)) | ~continues;
        sum = continues ? sum : zero, lost = continues ? lost : zero, n = continues ? n : zero;
        add(value, sum, lost);
        n += 1.0;
        batch.term[i] = is_equal ? value : (sum + lost) / n;
        before = value;
    }
    for (int64_t i = end - 1; i-- > 0;) batch.term[i] = batch.is_tied[i] ? batch.term[i + 1] : batch.term[i];
}

// What a rank adds: the sum of by_grade so far if by_grade[g] > 0, divided by by_rank[rank]. Let a tie of m documents have
// r with a value above 0, g on average, and let G be the sum above it. Its j-th rank then has the expectation
// r/m (G + g + (j - 1) g (r - 1)/(m - 1)), which takes one division with the denominator m (m - 1). Returns the rank from
// which on it is 0.
template <int LANES>
int64_t precisions(const Declaration& declared, Batch<LANES>& batch, int64_t depth) {
    int64_t end = batch.with_whole_ties(depth);
    look_up(declared.by_grade, batch, 0, end);
    while (!batch.has_ties && end && !is_any(mask(batch.term[end - 1] > 0))) end--;
    const Doubles<LANES> zero = {};
    Doubles<LANES> sum = {}, lost = {}, so_far = {}, before = {};
    PartOfTie<LANES> part = {};
    for (int64_t i = 0; i < end; i++) {
        const Doubles<LANES> value = batch.term[i];
        if (batch.has_ties) {
            const Integers<LANES> continues = i ? batch.is_tied[i - 1] : Integers<LANES>{};
            part.above = continues ? part.above : so_far;
            part.hits = (continues ? part.hits : zero) + (value > 0 ? zero + 1.0 : zero);
            part.size = (continues ? part.size : zero) + 1.0;
            part.is_mixed = (part.is_mixed | mask(value != before)) & continues;
            before = value;
            if (is_any(~batch.is_tied[i])) batch.part[i] = part;
        }
        add(value, sum, lost);
        batch.so_far[i] = so_far = sum + lost;
        batch.term[i] = value > 0 ? so_far : zero;
    }
    Doubles<LANES> total = {}, j = {};
    for (int64_t i = batch.has_ties ? end : 0; i-- > 0;) {
        const Integers<LANES> ends = ~batch.is_tied[i];
        if (is_any(ends)) {
            const PartOfTie<LANES>& whole = batch.part[i];
            part.above = ends ? whole.above : part.above;
            part.hits = ends ? whole.hits : part.hits;
            part.size = ends ? whole.size : part.size;
            part.is_mixed = ends ? whole.is_mixed : part.is_mixed;
            total = ends ? batch.so_far[i] - whole.above : total;
            j = ends ? whole.size : j;
        }
        j -= 1.0;
        const Doubles<LANES> others = part.size - 1.0;
        const Doubles<LANES> numerator = (part.hits * part.above + total) * others + total * j * (part.hits - 1.0);
        batch.term[i] = part.is_mixed ? numerator / (part.size * others) : batch.term[i];
    }
    return std::min(depth, end);
}

// Both in a random order.
template <int LANES>
void of_random_order(const Declaration& declared, Batch<LANES>& batch, int64_t depth) {
    const Doubles<LANES> zero = {}, size = at_least(1.0, batch.size);
    Doubles<LANES> total = {}, lost = {}, hits = {}, lowest = zero + INFINITY, highest = zero - INFINITY;
    for (const Run<LANES>& run : batch.runs) {
        const Doubles<LANES> value = value_of(declared.by_grade, run);
        add(value * run.n, total, lost);
        hits += value > 0 ? run.n : zero;
        lowest = mask(run.n > 0) & mask(value < lowest) ? value : lowest;
        highest = mask(run.n > 0) & mask(value > highest) ? value : highest;
    }
    const Doubles<LANES> mean = complete(total, lost) / size;
    const Doubles<LANES> first = mean > highest ? highest : mean < lowest ? lowest : mean;  // if values are equal
    const Doubles<LANES> growth = declared.kind == PRECISIONS ? (hits - 1.0) / at_least(1.0, size - 1.0) : zero;
    for (int64_t i = 0; i < depth; i++) batch.term[i] = batch.size > double(i) ? first * (1.0 + growth * double(i)) : zero;
}

// The probability of h relevant documents among t of m, r of them relevant, for the lowest h to the highest, which are
// returned. Ratios of neighbours are multiplied outwards from the most likely h. The products fall in both directions, so
// no digit is lost.
std::pair<int64_t, int64_t> hypergeometric(int64_t m, int64_t r, int64_t t, double* p) {
    const int64_t lowest = std::max<int64_t>(0, r + t - m), highest = std::min(r, t);
    const int64_t mode = std::clamp(static_cast<int64_t>((t + 1.0) * (r + 1.0) / (m + 2.0)), lowest, highest);
    const auto more = [=](int64_t h) { return double(r - h) * (t - h); };  // p[h + 1] / p[h] = more(h) / fewer(h + 1)
    const auto fewer = [=](int64_t h) { return double(h) * (m - r - t + h); };
    p[mode] = 1;
    for (int64_t h = mode; h < highest; h++) p[h + 1] = p[h] * (more(h) / fewer(h + 1));
    for (int64_t h = mode; h > lowest; h--) p[h - 1] = p[h] * (fewer(h) / more(h - 1));
    const double total = std::accumulate(p + lowest, p + highest + 1, 0.0);
    for (int64_t h = lowest; h <= highest; h++) p[h] /= total;
    return {lowest, highest};
}

// The probabilities to stop at the first ranks of a tie, or of a tie in each lane, for a user who reaches it, are the means
// over all orders of its documents. Three functions find them. All numbers in them are positive, so no digit is lost.

// Where each document stops all users or nobody, the first of n_one documents is at the rank j + 1 with the probability
// n_one / (size - j), if it is not above. Returns the number of ranks that users reach in the chosen lanes.
template <int LANES>
int64_t stops_at_once(const Doubles<LANES>& size, const Doubles<LANES>& n_one, const Integers<LANES>& is_chosen,
                      int64_t ranks, Doubles<LANES>* t) {
    const Doubles<LANES> zero = {}, one = zero + 1.0;
    Doubles<LANES> left = n_one > 0 ? one : zero, lost = {};
    for (int64_t j = 0; j < ranks; j++) {
        if (j % USUAL_RANKS == 0) {
            left = left > NEGLIGIBLE ? left : zero, lost = left > 0 ? lost : zero;
            if (!is_any(is_chosen & mask(left > 0))) return j;
        }
        const Doubles<LANES> share = n_one / at_least(1.0, size - double(j));
        const Doubles<LANES> stops = leave(share < 1.0 ? share : one, left, lost);
        t[j] = is_chosen ? stops : t[j];
    }
    return ranks;
}

// In any tie of up to about a thousand documents. With q = 1 - p, let E be the product of (1 + q x) over all m documents,
// and F the sum over each document of p times that product over the others. Their coefficients are sums over sets of j
// documents, so the probability to stop at the rank j + 1 is F_j / (m C(m-1, j)). A further run multiplies E by
// e = (1 + q x)^n, and turns F into F e + E f, where f = n p (1 + q x)^(n-1). The powers of q are exact to the last digit,
// as 1 - p alone is not.
template <int LANES>
void stops_by_polynomials(const Array<Run<LANES>>& runs, const Doubles<LANES>& size, int64_t ranks, Doubles<LANES>* t,
                          Doubles<LANES>* spare) {
    const Doubles<LANES> zero = {}, one = zero + 1.0;
    Doubles<LANES>*E = spare, *F = E + ranks, *e = F + ranks, *f = e + ranks;
    std::fill_n(E, 2 * ranks, zero);
    E[0] = one;
    int64_t degree = 0;  // of E
    for (const Run<LANES>& run : runs) {
        Doubles<LANES> choices = one, left = one, lost = zero;
        const int64_t n = std::min(largest(run.n), ranks - 1);
        for (int64_t h = 0; h <= n; h++) {
            const Doubles<LANES> others = at_least(0.0, run.n - double(h));
            e[h] = choices * (left + lost), f[h] = e[h] * (others * run.stop);
            leave(run.stop, left, lost);
            choices *= others * (1.0 / (h + 1));
        }
        const int64_t degree_before = std::exchange(degree, std::min(degree + n, ranks - 1));
        for (int64_t j = degree; j >= 0; j--) {
            Doubles<LANES> new_E = zero, new_F = zero;
            for (int64_t h = std::max<int64_t>(j - n, 0); h <= std::min(j, degree_before); h++) {
                new_E += E[h] * e[j - h], new_F += F[h] * e[j - h] + E[h] * f[j - h];
            }
            E[j] = new_E, F[j] = new_F;
        }
    }
    Doubles<LANES> choices = size;  // of j documents, and the one that follows
    for (int64_t j = 0; j < ranks; choices *= (size - (j + 1.0)) * (1.0 / (j + 1)), j++) {
        t[j] = size > double(j) ? F[j] / choices : zero;
    }
}

// In a larger tie, whose coefficients would not fit into a double. Let S_j be the mean, over all sets of j documents, of the
// probability to continue past all of them, and T_j the probability to stop at the j-th rank. They are known for no
// document. Further documents of one grade mix them with positive weights: h of the first j documents are then among the n
// from before, with the hypergeometric probability.
void stops_by_means(const Array<Run<1>>& runs, int64_t ranks, double* t, double* spare) {
    double *s = spare, *new_s = s + ranks, *new_t = new_s + ranks, *power = new_t + ranks, *probability = power + ranks;
    std::fill_n(s, ranks, 0.0), std::fill_n(t, ranks, 0.0);  // s[j] is S_j, and t[j] is T_{j+1}
    s[0] = 1;
    int64_t n = 0;
    for (const Run<1>& run : runs) {
        const int64_t m = n + static_cast<int64_t>(run.n);
        double left = 1, lost = 0;
        for (int64_t j = 0; j < ranks; j++) power[j] = left + lost, leave(run.stop, left, lost);
        for (int64_t j = 0; j < std::min(ranks, m + 1); j++) {
            const auto [lowest, highest] = hypergeometric(m, n, j, probability);
            double mean_s = 0, mean_t = 0;
            for (int64_t h = lowest; h <= highest; h++) {
                const double weight = probability[h] * power[j - h];
                mean_s += weight * s[h];
                mean_t += weight * ((n - h) * t[h] + (run.n - (j - h)) * run.stop * s[h]);
            }
            new_s[j] = mean_s, new_t[j] = mean_t / std::max<int64_t>(m - j, 1);
        }
        n = m;
        std::copy_n(new_s, std::min(ranks, n + 1), s), std::copy_n(new_t, std::min(ranks, n), t);
    }
}

// Writes the probabilities for the first of so many ranks, and returns how many are written: nobody gets further. `spare`
// has room for five times as many numbers.
template <int LANES>
int64_t stops_in_tie(const Declaration& declared, const Array<Run<LANES>>& runs, const Doubles<LANES>& size,
                     const Doubles<LANES>& by_query, int64_t ranks, Doubles<LANES>* t, Doubles<LANES>* spare) {
    const Doubles<LANES> zero = {}, one = zero + 1.0;
    Doubles<LANES> total = {}, n_zero = {}, n_one = {};
    for (Run<LANES>& run : runs) {
        const Doubles<LANES> p = value_of(declared.by_grade, run) * by_query;
        run.stop = p < 1.0 ? p : one;
        total += run.stop * run.n, n_zero += p > 0 ? zero : run.n, n_one += p < 1.0 ? zero : run.n;
    }
    ranks = std::min(ranks, declared.effective_depth);
    const Integers<LANES> is_sure = mask(n_zero + n_one == size);
    if (!is_any(~is_sure)) return stops_at_once<LANES>(size, n_one, is_sure, ranks, t);
    if constexpr (LANES == 1) {
        if (ranks > USUAL_RANKS) {  // S_j <= (1 - mean)^j (Maclaurin), so nobody gets further than this
            const double furthest = std::ceil(std::log(NEGLIGIBLE) / std::log1p(-std::min(total / size, 1.0)));
            ranks = static_cast<int64_t>(std::min<double>(ranks, std::max(furthest, 1.0)));
        }
        const bool is_large = size > LARGEST_POWER && ranks * bits_for(static_cast<int64_t>(size)) > LARGEST_POWER;
        if (is_large) return stops_by_means(runs, ranks, t, spare), ranks;
    }
    stops_by_polynomials<LANES>(runs, size, ranks, t, spare);
    for (int64_t j = stops_at_once<LANES>(size, n_one, is_sure, ranks, t); j < ranks; j++) t[j] = is_sure ? zero : t[j];
    return ranks;
}

// What a rank adds: the probability that the user stops there, times by_rank[rank]. Returns the rank from which on it is 0.
template <int LANES>
int64_t cascade(const Declaration& declared, Batch<LANES>& batch, int64_t depth, bool is_random) {
    const Doubles<LANES> zero = {}, one = zero + 1.0;
    Doubles<LANES> by_query, reach = one, lost = {};
    for (int lane = 0; lane < LANES; lane++) set(by_query, lane, declared.by_query ? declared.by_query[batch.query[lane]] : 1.0);
    Doubles<LANES>* const spare = batch.spare.begin();
    if (is_random) return stops_in_tie<LANES>(declared, batch.runs, batch.size, by_query, depth, batch.term.begin(), spare);
    const int64_t with_pairs = std::min(depth + 1, batch.width);
    bool is_over = false;  // whether nobody is left
    for (int64_t i = 0; i < with_pairs; i++) {
        if (i % USUAL_RANKS == 0) {
            reach = reach > NEGLIGIBLE ? reach : zero, lost = reach > 0 ? lost : zero;  // whatever the other lanes hold
            if (i) batch.so_far[i - 1] = reach + lost;
            is_over = is_over || !is_any(mask(reach > 0));
            look_up(declared.by_grade, batch, i, std::min(i + USUAL_RANKS, with_pairs));
        }
        // Within a tie, `reach` belongs to one of its orders, and users may get further in the others.
        if (is_over && !(batch.has_ties && is_any(batch.is_tied[i - 1]))) {
            depth = std::min(depth, i);
            break;
        }
        const Doubles<LANES> p = batch.term[i] * by_query, stop = p < 1.0 ? p : one;
        batch.stop[i] = stop;
        batch.term[i] = leave(stop, reach, lost);
        batch.so_far[i] = reach + lost;
    }
    if (!batch.has_ties) return depth;
    Integers<LANES> is_last = {}, has_larger = {};
    for (int64_t i = 0; i < depth; i++) {  // ties of two documents, which are the most, in all lanes at once
        const Integers<LANES> is_tied = batch.is_tied[i];
        const Integers<LANES> continues = i + 1 < batch.width ? batch.is_tied[i + 1] : Integers<LANES>{};
        const Integers<LANES> is_pair = is_tied & ~is_last & ~continues;
        has_larger |= is_tied & continues;
        is_last = is_tied;
        if (!is_any(is_pair)) continue;
        const Doubles<LANES> p = batch.stop[i], q = batch.stop[i + 1], reached = i ? batch.so_far[i - 1] : one;
        const Integers<LANES> is_mixed = is_pair & mask(p != q);
        batch.term[i] = is_mixed ? reached * (p + q) / 2 : batch.term[i];
        batch.term[i + 1] = is_mixed ? reached * (p * (1.0 - q) + q * (1.0 - p)) / 2 : batch.term[i + 1];
    }
    for (int lane = 0; lane < LANES; lane++) {
        for (int64_t i = 0, end; at(has_larger, lane) && i < depth; i = end) {
            const double reached = i ? at(batch.so_far[i - 1], lane) : 1.0;
            if (reached <= NEGLIGIBLE) break;
            end = batch.end_of_tie(i, lane);
            if (end <= i + 2 || at(batch.grade[i], lane) == at(batch.grade[end - 1], lane)) continue;
            batch.count_grades(lane, i, end);
            const int64_t last = std::min(depth, end);
            const int64_t ranks = stops_in_tie<1>(declared, batch.runs_of_tie, end - i, at(by_query, lane), last - i,
                                                  batch.t.begin(), reinterpret_cast<double*>(spare));
            for (int64_t j = i; j < last; j++) set(batch.term[j], lane, j - i < ranks ? reached * batch.t[j - i] : 0.0);
        }
    }
    return depth;
}

// -- from what ranks add to values --------------------------------------------------------------------------------------

// Writes the values of one cutoff: the sums, divided by what the metric declares.
template <int LANES>
void write(const Declaration& declared, const Batch<LANES>& batch, int64_t c, const Doubles<LANES>& sum,
           double* out) {
    const int64_t n_queries = batch.all.n_queries;
    const double* divisor = declared.divisor + c * n_queries;
    Doubles<LANES> divisors;
    for (int lane = 0; lane < LANES; lane++) set(divisors, lane, divisor[batch.query[lane]]);
    const auto quotient = sum / divisors;
    double* values = out + declared.out_row[c] * n_queries;
    for (int lane = 0; lane < batch.n_lanes; lane++) values[batch.query[lane]] = at(quotient, lane);
}

// Adds up the terms down to each cutoff, with what the additions lose, so the error does not grow with the length of the
// list.
template <int LANES>
void write_sums(const Declaration& declared, const Batch<LANES>& batch, int64_t depth, double* out) {
    Doubles<LANES> sum = {}, lost = {};
    int64_t rank = 0;
    for (int64_t c = 0; c < declared.n_cutoffs; c++) {
        for (const int64_t end = std::min(declared.cutoff[c], depth); rank < end; rank++) {
            Doubles<LANES> by_rank = Doubles<LANES>{} + declared.by_rank[rank];
            if (declared.by_rank_start) {
                for (int lane = 0; lane < LANES; lane++) {
                    const double* values = declared.by_rank + declared.by_rank_start[batch.query[lane]];
                    set(by_rank, lane, rank < batch.n[lane] ? values[rank] : 1.0);
                }
            }
            add(declared.kind == PRECISIONS ? batch.term[rank] / by_rank : batch.term[rank] * by_rank, sum, lost);
        }
        write(declared, batch, c, complete(sum, lost), out);
    }
}

// The sum of the precisions at the hits down to each cutoff, divided by the number of hits. Both are random where a tie
// spans the cutoff. Given that h of the tie's relevant documents are at its t ranks within, they are in any order
// there: the j-th rank adds (h/t) (b + 1 + (j-1) (h-1)/(t-1)) / rank, where b is the number of hits above the tie. A random
// order is a tie of all documents.
template <int LANES>
void write_precisions_by_hits(const Declaration& declared, Batch<LANES>& batch, int64_t depth, bool is_random, double* out) {
    const double* by_rank = declared.by_rank;
    const Array<Doubles<LANES>>&hits = batch.so_far, &sum = batch.term;  // the latter of the precisions so far
    Doubles<LANES> so_far = {}, lost = {};
    for (int64_t i = 0; i < depth; i++) {
        add(sum[i] / by_rank[i], so_far, lost);
        sum[i] = so_far + lost;
    }
    for (int64_t c = 0; c < declared.n_cutoffs; c++) {
        const int64_t end = std::min(declared.cutoff[c], depth);
        Doubles<LANES> ratio = {};
        if (end) ratio = sum[end - 1] / (hits[end - 1] > 1.0 ? hits[end - 1] : Doubles<LANES>{} + 1.0);
        for (int lane = 0; lane < LANES && (batch.has_ties || is_random) && end; lane++) {
            if (!is_random && !at(batch.is_tied[end - 1], lane)) continue;  // no tie spans the cutoff
            int64_t above = is_random ? 0 : end - 1;
            while (above && at(batch.is_tied[above - 1], lane)) above--;
            const int64_t end_of_tie = is_random ? batch.n[lane] : batch.end_of_tie(end, lane);
            const int64_t t = is_random ? std::min(declared.cutoff[c], end_of_tie) : end - above;
            batch.count_grades(lane, above, end_of_tie);
            if (batch.runs_of_tie.size() == 1) continue;
            const double b = above ? at(hits[above - 1], lane) : 0.0, sum_above = above ? at(sum[above - 1], lane) : 0.0;
            double r = 0, first = 0, second = 0, lost_of_first = 0, lost_of_second = 0;
            for (const Run<1>& run : batch.runs_of_tie) r += run.n * declared.by_grade[run.grade];
            for (int64_t j = 0; j < t; j++) {
                add(1 / by_rank[above + j], first, lost_of_first), add(j / by_rank[above + j], second, lost_of_second);
            }
            first += lost_of_first, second += lost_of_second;
            const auto [lowest, highest] = hypergeometric(end_of_tie - above, static_cast<int64_t>(r), t, batch.t.begin());
            double expected = 0;
            for (int64_t h = lowest; h <= highest; h++) {
                const double others = std::max(h - 1.0, 0.0) / std::max(t - 1.0, 1.0);
                const double in_tie = double(h) / t * ((b + 1) * first + others * second);
                expected += batch.t[h] * ((sum_above + in_tie) / std::max(b + h, 1.0));
            }
            set(ratio, lane, expected);
        }
        write(declared, batch, c, ratio, out);
    }
}

// Writes what a batch has for each cutoff; the values of a random order are the means over all orders.
template <int LANES>
void write_values(const Declaration& declared, Batch<LANES>& batch, bool is_random, double* out) {
    int64_t depth = std::min(declared.cutoff[declared.n_cutoffs - 1], batch.width);
    if (declared.kind == CASCADE) depth = cascade(declared, batch, depth, is_random);
    else if (is_random && declared.kind != PRECISIONS_BY_HITS) of_random_order(declared, batch, depth);
    else if (declared.kind == GAINS) gains(declared, batch, depth);
    else depth = precisions(declared, batch, depth);
    if (declared.kind == PRECISIONS_BY_HITS) write_precisions_by_hits(declared, batch, depth, is_random, out);
    else write_sums(declared, batch, depth, out);
}

// -- threads ----------------------------------------------------------------------------------------------------------
//
// They are started in each call, so that none is missed after a fork. The caller waits until all parts of its work are done,
// but not for a thread that got none, or that has not ended yet: on a busy machine either can take milliseconds. Such a
// thread reads no more than its `Crew`. (std::thread would need the C++ library, and OpenMP's threads outlive the call.)

// The system may take a thread's processor away in the middle of a part, for instance where the idle threads of OpenMP
// wait for work in a loop, as LightGBM's do. The caller then calls the thread to its own processor, which is free.

constexpr int USUAL_WAIT = 50'000;  // looks at a counter, for the last part of another thread
constexpr int MOST_CALLED = 64;     // threads

#if defined(__linux__)
int thread_id() { return static_cast<int>(syscall(SYS_gettid)); }
void call_here(int id) {  // whose number no other thread can have got in the meantime, because numbers go round
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(id, sizeof here, &here);
}
#else
int thread_id() { return 0; }
void call_here(int) {}
#endif

template <class Work>
struct Crew {
    const Work work;  // called with the first part that a thread gets, and with the crew for all others
    const int64_t n_parts;  // which ends a loop over them: after the last part, what the work refers to may be gone
    std::atomic<int64_t> n_taken{0}, n_done{0}, n_members{1}, n_joined{0};
    std::atomic<int> at_work[MOST_CALLED] = {};  // the ids of threads

    int64_t take() { return std::min(n_taken++, n_parts); }  // `n_parts` is none
    int64_t take_next() { return n_done++, take(); }

    static void join_in(void* crew) {
        Crew& self = *static_cast<Crew*>(crew);
        std::atomic<int>& id = self.at_work[self.n_joined++ % MOST_CALLED];
        id = thread_id();
        const int64_t part = self.take();
        if (part < self.n_parts) self.work(part, self);
        id = 0;
        self.leave();
    }
    void leave() {
        if (--n_members) return;
        this->~Crew();
        std::free(this);
    }
};

#if defined(_WIN32)
template <void (*RUN)(void*)>
bool start(void* crew) {
    const HANDLE thread = CreateThread(nullptr, 0, [](void* of) -> DWORD { return RUN(of), 0; }, crew, 0, nullptr);
    return thread && CloseHandle(thread);
}
void give_way() { SwitchToThread(); }
#else
template <void (*RUN)(void*)>
bool start(void* crew) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
#if defined(__GLIBC__)  // Linux often puts it on the processor of its starter, and moves it only after milliseconds
    cpu_set_t others;  // said before it runs: to move a thread that has ended already would move its starter
    if (!sched_getaffinity(0, sizeof others, &others) && CPU_COUNT(&others) > 1) {
        CPU_CLR(sched_getcpu(), &others);
        pthread_attr_setaffinity_np(&attributes, sizeof others, &others);
    }
#endif
    const int failure = pthread_create(&thread, &attributes, [](void* of) -> void* { return RUN(of), nullptr; }, crew);
    return pthread_attr_destroy(&attributes), !failure;
}
void give_way() { sched_yield(); }
#endif

// Does all parts of some work in several threads, this one included; false if there is not enough memory. Where the system
// has no thread left, this one does all of it.
template <class Work>
bool in_threads(int64_t n_threads, int64_t n_parts, const Work& work) {
    void* memory = std::malloc(sizeof(Crew<Work>));
    if (!memory) return false;
    auto* crew = new (memory) Crew<Work>{work, n_parts};
    for (int64_t i = 1; i < std::min(n_threads, n_parts); i++) {
        crew->n_members++;
        if (!start<Crew<Work>::join_in>(crew)) { crew->n_members--; break; }
    }
    crew->n_members++;
    Crew<Work>::join_in(crew);
    for (int i = 0; crew->n_done < n_parts; i++) {
        for (int t = 0; t < MOST_CALLED && i == USUAL_WAIT; t++) {
            if (const int id = crew->at_work[t]) call_here(id);
        }
        if (i > USUAL_WAIT) give_way();  // to it, and to other programs
    }
    crew->leave();
    return true;
}

// Ranks some queries, in which neighbours have similar lengths, and calls `use` for every batch of them. Returns -1, or a
// row whose score is NaN, or -2 if there is not enough memory.
template <class Use>
int64_t for_each_batch(const Documents& all, const int64_t* queries, int64_t n_queries, Use use,
                       Batch<MOST_LANES>& several, Batch<1>& one) {
    const auto is_long = [&](int64_t i) { return all.start[queries[i] + 1] - all.start[queries[i]] > MOST_IN_A_NETWORK; };
    const auto process = [&](auto& batch, int64_t begin, int n) {
        if (!batch.take(queries + begin, n)) return int64_t{-2};
        const int64_t failure = rank_batch(batch);
        if (failure == -1) use(batch);
        return failure;
    };
    for (int64_t begin = 0, n; begin < n_queries; begin += n) {
        for (n = 0; n < MOST_LANES && begin + n < n_queries && !is_long(begin + n); n++) {}
        for (int64_t i = begin + n; i < std::min(begin + n + MOST_LANES, n_queries); i++) {  // memory is read in leaps
            const int64_t row = several.row_at(all.start[queries[i]]);
            if (all.score) __builtin_prefetch(&all.score[row]), __builtin_prefetch(&all.score[row] + 8);
            __builtin_prefetch(&all.grade[row]);
        }
        const int64_t failure = n ? process(several, begin, static_cast<int>(n)) : process(one, begin, n = 1);
        if (failure != -1) return failure;
    }
    return -1;
}

// Does the same in several threads. Each takes a window of queries at a time.
template <class Use>
int64_t for_each_query(Documents all, Ties ties, const double* score, int64_t n_threads, const Use& use) {
    all.ties = std::min(ties, IDEAL), all.score = score;
    std::atomic<int64_t> failure{-1};
    const int64_t n_windows = (all.n_queries - 1) / all.window + 1;
    const bool is_done = in_threads(n_threads, n_windows, [&](int64_t part, auto& crew) {
        Batch<MOST_LANES> several(all);
        Batch<1> one(all);
        for (; part < crew.n_parts; part = crew.take_next()) {
            if (failure != -1) continue;
            const int64_t begin = part * all.window, n = std::min(all.window, all.n_queries - begin);
            const int64_t of_window = for_each_batch(all, all.order + begin, n, use, several, one);
            if (of_window != -1) failure = of_window;
        }
    });
    return is_done ? failure.load() : -2;
}

}  // namespace

// -- what Python calls -------------------------------------------------------------------------------------------------

#pragma GCC visibility push(default)
extern "C" {

// Writes a value for each cutoff of each declaration and each query: (values x queries). Each thread
// takes a window of queries at a time. With IDEAL, which needs values by grade, the means over all orders are written, too, if
// `random` is not null. Returns -1, or a row whose score is NaN, or -2 if there is not enough memory.
int64_t evaluate(const Documents* documents, Ties ties, const double* score, const Declaration* declarations,
                 int64_t n_declarations, double* out, double* random, int64_t n_threads) {
    const auto use = [=](auto& batch) {
        for (int64_t f = 0; f < n_declarations; f++) {
            write_values(declarations[f], batch, false, out);
            if (random) write_values(declarations[f], batch, true, random);
        }
    };
    return for_each_query(*documents, ties, score, n_threads, use);
}

// Writes the row, the grade index and whether a document is tied with the next one, for each ranked document, query after
// query and by rank. Rows and ties may be null. Returns what `evaluate` returns.
int64_t rank(const Documents* documents, Ties ties, const double* score, int64_t* rows, int32_t* grades,
             bool* is_tied_with_next, int64_t n_threads) {
    const auto use = [=](auto& batch) {
        for (int lane = 0; lane < batch.n_lanes; lane++) {
            const int64_t first = batch.first[lane];
            for (int64_t i = 0; i < batch.n[lane]; i++) {
                grades[first + i] = at(batch.grade[i], lane);
                if (rows) rows[first + i] = batch.row(i, lane);
                if (batch.has_ties) is_tied_with_next[first + i] = at(batch.is_tied[i], lane);
            }
        }
    };
    return for_each_query(*documents, ties, score, n_threads, use);
}

// Writes the mean of each row of a matrix without its NaN. The mean of nothing is NaN. Returns -1, or -2 if there is not
// enough memory.
int64_t means(const double* values, int64_t n_rows, int64_t n_columns, double* mean, int64_t n_threads) {
    const auto work = [=](int64_t row, auto& crew) {
        for (; row < crew.n_parts; row = crew.take_next()) {
            mean[row] = mean_of_numbers(values + row * n_columns, n_columns);
        }
    };
    return in_threads(n_threads, n_rows, work) ? -1 : -2;
}

// Writes the sums of each query's values so far; the values are query after query, from `start` on.
void accumulate(const double* values, const int64_t* start, int64_t n_queries, double* sums) {
    for (int64_t query = 0; query < n_queries; query++) {
        double sum = 0, lost = 0;
        for (int64_t i = start[query]; i < start[query + 1]; i++) {
            add(values[i], sum, lost);
            sums[i] = sum + lost;
        }
    }
}

// A checksum of this file when it was compiled.
int64_t source_crc() { return SOURCE_CRC; }

// The newest of x86-64's levels (3: AVX2, 4: AVX-512) that this processor has; 1 if it is of another architecture.
int64_t processor_level() {
#if defined(__x86_64__)
    unsigned a, b, c, d, saved, unused;  // the operating system must save the registers, too
    __cpuid(1, a, b, c, d);
    if (!(c & bit_OSXSAVE)) return 1;
    __asm__("xgetbv" : "=a"(saved), "=d"(unused) : "c"(0));
    __cpuid_count(7, 0, a, b, c, d);
    if ((b & bit_AVX512F) && (b & bit_AVX512BW) && (b & bit_AVX512VL) && (b & bit_AVX512DQ) && (saved & 0xE6) == 0xE6) return 4;
    if ((b & bit_AVX2) && (saved & 6) == 6) return 3;
#endif
    return 1;
}

}  // extern "C"
#pragma GCC visibility pop
