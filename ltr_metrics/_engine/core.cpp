// The compiled core: it ranks the documents of every query, and adds up what metrics declare, while a query is cached.
//
// Eight queries are processed side by side (four or two, where registers are narrower). A row of a matrix holds one rank
// of each of them, in a register of eight lanes, so the sort and the sums take one instruction for all eight:
//
//     lane     0    1    2   ...  7          queries of similar length; shorter ones are padded with "no document",
//     rank 1   .    .    .        .          whose grade index and values are 0
//     rank 2   .    .    .        .
//     rank 3   0    .    .        .
//
// Only ties are handled query by query. A list of more than MOST_IN_A_NETWORK documents has matrices of one lane.
//
// A sum runs from the first rank to the last, and no operation is reordered or fused, so the digits of a query depend
// neither on its neighbours nor on the processor. `native.py` is the other side of the interface.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <numeric>
#include <tuple>
#include <utility>
#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>
#else
#include <pthread.h>
#include <sched.h>
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
constexpr int MOST_COUNTED_GRADES = 255;    // more distinct grades are sorted
constexpr int64_t MOST_SORTED_GRADES = 48;  // of longer lists, the documents of each grade are counted
constexpr int64_t HIGHEST = std::numeric_limits<int64_t>::max();
constexpr double NEGLIGIBLE = 0x1p-60;      // a user who gets further with this probability changes no digit
constexpr int64_t USUAL_RANKS = 16;         // so many ranks of a tie are cheaper than to ask how many are reached

enum Ties : int64_t { STABLE, WORST, BEST, DOCID, MEAN, IDEAL, RANDOM };  // the last two need no scores
enum Kind : int64_t { GAINS, PRECISIONS, CASCADE, PRECISIONS_BY_HITS };

}  // namespace

// -- what Python passes ---------------------------------------------------------------------------------------------

extern "C" {

struct Documents {           // of all queries
    int64_t n_queries;
    const int64_t* start;    // (n_queries + 1) where the ranked documents of each query begin
    const int64_t* rows;     // their rows in the input; null if these are 0, 1, 2, ...
    const double* score;     // by row, which differ from call to call
    const int32_t* grade;    // by row, the grade index; 0 means "no document"
    const int64_t* docid;    // by row, the order of documents with equal scores; null except for DOCID
    int64_t n_grades;
    Ties ties;
};

struct Family {              // metrics that differ only in the cutoff
    Kind kind;
    int64_t n_cutoffs;
    const int64_t* cutoff;   // ascending
    const int64_t* out_row;  // row of the output for each cutoff
    const double* by_grade;  // a value for each grade index
    const double* by_row;    // or one for each row of the input; null if by grade
    const double* by_rank;   // a value for each rank
    const int64_t* by_rank_start;  // where each query's values by rank begin; null if all queries share them
    const double* scale;     // a factor of by_grade for each query; null is 1
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

template <class Mask>
bool is_any(const Mask& mask) {  // whether any lane is true
    bool any = false;
    for (size_t lane = 0; lane < sizeof mask / sizeof mask[0]; lane++) any |= mask[lane] != 0;
    return any;
}

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
    void resize(int64_t n_values) { n = n_values; }
    void push_back(const T& value) { first[n++] = value; }
    void clear() { n = 0; }
    int64_t size() const { return n; }
    T* data() const { return first; }
    T* begin() const { return first; }
    T* end() const { return first + n; }
    T& operator[](int64_t i) const { return first[i]; }
};

// The sum of halves of halves: errors grow with the logarithm of n. NumPy adds in the same order.
double pairwise_sum(const double* x, int64_t n) {
    if (n > 128) {
        const int64_t half = n / 2 / 8 * 8;
        return pairwise_sum(x, half) + pairwise_sum(x + half, n - half);
    }
    double sum = 0;
    int64_t i = 0;
    if (n >= 8) {
        double s[8];
        std::copy_n(x, 8, s);
        for (i = 8; i + 8 <= n; i += 8) {
            for (int j = 0; j < 8; j++) s[j] += x[i + j];
        }
        sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    }
    for (; i < n; i++) sum += x[i];
    return sum;
}

// Adds a number, or several side by side, to a sum, and what the addition loses to `lost` (Knuth's TwoSum).
template <class T>
void add(const T& value, T& sum, T& lost) {
    const T longer = sum + value, added = longer - sum;
    lost += (sum - (longer - added)) + (value - added);
    sum = longer;
}

struct Run {  // documents of one grade in a tie
    int64_t grade, n;
};

struct Tie {  // documents of equal score whose order is open
    int64_t lane, above, size;
    int64_t first_run, n_runs;  // by ascending grade

    int64_t end() const { return above + size; }
    bool is_mixed() const { return n_runs > 1; }
};

// The matrices of some queries. Later batches use their memory again.
template <int LANES>
struct Batch {
    using Integers = typename Register<int64_t, LANES>::type;
    using Grades = typename Register<int32_t, LANES>::type;
    using Doubles = typename Register<double, LANES>::type;

    const Documents& all;
    int n_lanes = 0;                   // queries; further lanes are padding
    int64_t query[LANES], first[LANES], n[LANES];  // n documents of each, from the offset `first` on
    int64_t width = 0;
    int position_bits = 0, order_bits = 0;  // of a key
    Array<Integers> key;
    Array<int64_t> score;        // as integers, lane after lane, by position in the query
    Array<Grades> grade;
    Array<int64_t> edges;        // of ranges of nearly equal scores, lane after lane
    Array<Tie> ties;
    Array<Run> runs;
    Array<Doubles> term, so_far;       // what each rank adds to a sum, and what has been accumulated there
    Array<double> value, s, t, spare;  // of the documents of one tie, see `gains` and `stops_in_tie`
    Array<std::tuple<int64_t, int64_t, int64_t, int64_t>> unsorted;  // documents that `repair` sorts

    explicit Batch(const Documents& documents) : all(documents) {}

    bool take(const int64_t* queries, int n_queries) {  // false if there is not enough memory
        n_lanes = n_queries, width = 0;
        for (int lane = 0; lane < LANES; lane++) {
            const bool is_used = lane < n_lanes;
            query[lane] = is_used ? queries[lane] : queries[0];
            first[lane] = all.start[query[lane]];
            n[lane] = is_used ? all.start[query[lane] + 1] - first[lane] : 0;
            width = std::max(width, n[lane]);
        }
        return key.make_room(width) && score.make_room(width * LANES) && grade.make_room(width) && term.make_room(width) &&
               so_far.make_room(width) && ties.make_room(width / 2 * LANES) && runs.make_room(width * LANES) &&
               edges.make_room((width + 1) * LANES) && unsorted.make_room(width) && value.make_room(width) &&
               s.make_room(width + 1) && t.make_room(width + 1) && spare.make_room(4 * width + 4);
    }

    int64_t row_at(int64_t document) const { return all.rows ? all.rows[document] : document; }
    int64_t position(int64_t rank, int64_t lane) const { return key[rank][lane] & ((int64_t{1} << position_bits) - 1); }
    int64_t score_at(int64_t rank, int64_t lane) const { return score[lane * width + position(rank, lane)]; }
    int64_t row(int64_t rank, int64_t lane) const { return row_at(first[lane] + position(rank, lane)); }
    const Run* begin(const Tie& tie) const { return &runs[tie.first_run]; }
    const Run* end(const Tie& tie) const { return begin(tie) + tie.n_runs; }

    double sum(const Tie& tie, const double* by_grade) const {  // by counts, so that a large tie costs no digit
        double sum = 0;
        for (const Run* run = begin(tie); run < end(tie); run++) sum += run->n * by_grade[run->grade];
        return sum;
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
template <class Integers>
void sort_by_network(Integers* key, int64_t n) {
    int64_t top = 1;
    while (2 * top < n) top *= 2;
    for (int64_t p = top; p > 0; p /= 2) {
        for (int64_t q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
            for (int64_t begin = r; begin < n - d; begin += 2 * p) {
                for (int64_t i = begin; i < std::min(begin + p, n - d); i++) {
                    const Integers a = key[i], b = key[i + d];
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

// Sorts the documents from one rank to another of one query by score, then as the policy says, then by position.
template <int LANES>
void repair(Batch<LANES>& batch, int lane, int64_t begin, int64_t end) {
    const Documents& all = batch.all;
    batch.unsorted.clear();
    for (int64_t i = begin; i < end; i++) {
        const int64_t row = batch.row(i, lane), grade = all.grade[row];
        const int64_t order = all.ties == STABLE ? 0 : all.ties == DOCID ? all.docid[row] : all.ties == BEST ? -grade : grade;
        batch.unsorted.push_back({batch.score_at(i, lane), order, batch.position(i, lane), int64_t{batch.key[i][lane]}});
    }
    std::sort(batch.unsorted.begin(), batch.unsorted.end());
    for (int64_t i = begin; i < end; i++) {
        batch.key[i][lane] = std::get<3>(batch.unsorted[i - begin]);
        batch.grade[i][lane] = all.grade[batch.row(i, lane)];
    }
}

// Adds a tie of one query with its documents of each grade. (There is no branch that depends on them, which would be slow.)
template <int LANES>
void add_tie(Batch<LANES>& batch, int64_t lane, int64_t begin, int64_t end) {
    const int64_t first_run = batch.runs.size();
    Run* run = batch.runs.end();
    int64_t grade = batch.grade[begin][lane];
    for (int64_t i = begin; i < end; i++) {
        run += batch.grade[i][lane] != grade;
        grade = batch.grade[i][lane];
        *run = {grade, i + 1};
    }
    batch.runs.resize(run + 1 - batch.runs.begin());
    batch.ties.push_back({lane, begin, end - begin, first_run, batch.runs.size() - first_run});
    int64_t above = begin;
    for (Run* one = &batch.runs[first_run]; one <= run; one++) one->n -= std::exchange(above, one->n);
}

// Sorts nearly equal scores of one query again, and ties whose order the key does not hold, and finds the ties. `edges`
// has the first and the last rank of each range of documents that agree in the bits of the score in the key.
template <int LANES>
void find_ties(Batch<LANES>& batch, int lane, const int64_t* edges, int64_t n_edges, bool loses_bits) {
    const Ties policy = batch.all.ties;
    for (int64_t e = 0; e < n_edges; e += 2) {
        const int64_t begin = edges[e], end = edges[e + 1] + 1, score = batch.score_at(begin, lane);
        bool is_tie = true;
        for (int64_t i = begin + 1; i < end && loses_bits; i++) is_tie &= batch.score_at(i, lane) == score;
        if (!is_tie || (policy != STABLE && !batch.order_bits)) repair(batch, lane, begin, end);
        if (policy != MEAN) continue;
        for (int64_t i = begin, j; i < end; i = j) {
            for (j = is_tie ? end : i + 1; j < end && batch.score_at(j, lane) == batch.score_at(i, lane); j++) {}
            if (j > i + 1) add_tie(batch, lane, i, j);
        }
    }
}

// Ranks the documents of a batch by descending grade.
template <int LANES>
void rank_by_grade(Batch<LANES>& batch) {
    const Documents& all = batch.all;
    batch.ties.clear(), batch.runs.clear();
    if (LANES > 1 && batch.width <= MOST_SORTED_GRADES) {  // which has no branch that depends on the grades
        std::fill_n(batch.key.data(), batch.width, typename Batch<LANES>::Integers{});
        for (int lane = 0; lane < LANES; lane++) {
            for (int64_t i = 0; i < batch.n[lane]; i++) {
                batch.key[i][lane] = -all.grade[batch.row_at(batch.first[lane] + i)];
            }
        }
        sort_by_network(batch.key.data(), batch.width);
        for (int64_t i = 0; i < batch.width; i++) {
            batch.grade[i] = __builtin_convertvector(-batch.key[i], typename Batch<LANES>::Grades);
        }
        return;
    }
    std::fill_n(batch.grade.data(), batch.width, typename Batch<LANES>::Grades{});
    for (int lane = 0; lane < LANES; lane++) {
        if (all.n_grades <= MOST_COUNTED_GRADES) {
            int64_t count[MOST_COUNTED_GRADES + 1];
            std::fill_n(count, all.n_grades + 1, 0);
            for (int64_t i = 0; i < batch.n[lane]; i++) count[all.grade[batch.row_at(batch.first[lane] + i)]]++;
            for (int64_t grade = all.n_grades, i = 0; grade > 0; grade--) {
                for (const int64_t end = i + count[grade]; i < end; i++) batch.grade[i][lane] = grade;
            }
            continue;
        }
        int64_t* sorted = batch.score.data();
        for (int64_t i = 0; i < batch.n[lane]; i++) sorted[i] = all.grade[batch.row_at(batch.first[lane] + i)];
        std::sort(sorted, sorted + batch.n[lane], std::greater<>());  // (libc++ has the ascending sort in its library)
        for (int64_t i = 0; i < batch.n[lane]; i++) batch.grade[i][lane] = sorted[i];
    }
}

// Makes one tie of all documents of each query, in whatever order they are.
template <int LANES>
void tie_all(Batch<LANES>& batch) {
    batch.position_bits = bits_for(batch.width);
    for (int64_t i = 0; i < batch.width; i++) batch.key[i] = typename Batch<LANES>::Integers{} + i;
    for (int lane = 0; lane < LANES; lane++) {
        if (batch.n[lane] > 1) add_tie(batch, lane, 0, batch.n[lane]);
    }
}

// Ranks the documents of a batch; returns a row whose score is NaN, or -1.
template <int LANES>
int64_t rank_batch(Batch<LANES>& batch) {
    const Documents& all = batch.all;
    if (all.ties >= IDEAL) rank_by_grade(batch);
    if (all.ties == RANDOM) tie_all(batch);
    if (all.ties >= IDEAL) return -1;
    const int grade_bits = bits_for(all.n_grades + 1);
    const bool is_best = all.ties == BEST;
    const bool key_has_grade = grade_bits <= MOST_GRADE_BITS && all.ties != STABLE && all.ties != DOCID;
    batch.position_bits = bits_for(batch.width);
    batch.order_bits = key_has_grade ? grade_bits : 0;
    const int64_t mask = (int64_t{1} << (batch.position_bits + batch.order_bits)) - 1, n_grades = all.n_grades;
    bool loses_bits[LANES];  // whether a score of the query has any where the key has none
    for (int lane = 0; lane < LANES; lane++) {
        int64_t* score = &batch.score[lane * batch.width];
        int64_t low_bits = 0;
        for (int64_t i = 0; i < batch.n[lane]; i++) {
            const int64_t row = batch.row_at(batch.first[lane] + i), bits = bits_of(all.score[row]);
            if (std::isnan(all.score[row])) return row;
            low_bits |= bits & mask;
            score[i] = bits ^ ((bits >> 63) & HIGHEST);  // smaller integers are higher scores
            const int64_t grade = all.grade[row], order = key_has_grade ? (is_best ? n_grades - grade : grade) : 0;
            batch.key[i][lane] = (score[i] & ~mask) | order << batch.position_bits | i;
        }
        for (int64_t i = batch.n[lane]; i < batch.width; i++) batch.key[i][lane] = HIGHEST;
        loses_bits[lane] = low_bits != 0;
    }
    if constexpr (LANES > 1) {
        sort_by_network(batch.key.data(), batch.width);
    } else {
        sort_by_digits(reinterpret_cast<int64_t*>(batch.key.data()), reinterpret_cast<int64_t*>(batch.term.data()),
                       batch.width, batch.position_bits);
    }

    using Integers = typename Batch<LANES>::Integers;
    Integers n, was_near = {};  // whether two documents of a query agree in the bits of the score
    for (int lane = 0; lane < LANES; lane++) n[lane] = batch.n[lane];
    int64_t n_edges[LANES] = {};  // of the ranges of such documents
    const int64_t most_edges = batch.width + 1;
    for (int64_t i = 0; i < batch.width; i++) {
        const Integers key = batch.key[i], order = (key & mask) >> batch.position_bits;
        const Integers grade = i < n ? (is_best ? n_grades - order : order) : Integers{};
        batch.grade[i] = __builtin_convertvector(grade, typename Batch<LANES>::Grades);
        const Integers next = i + 1 < batch.width ? batch.key[i + 1] : Integers{} + HIGHEST;
        const Integers is_near = (((key ^ next) & ~mask) == 0) & (i + 1 < n), is_edge = is_near ^ was_near;
        was_near = is_near;
        if (!is_any(is_edge)) continue;
        for (int lane = 0; lane < LANES; lane++) {
            batch.edges[lane * most_edges + n_edges[lane]] = i;
            n_edges[lane] -= is_edge[lane];  // true is -1
        }
    }
    batch.ties.clear(), batch.runs.clear();
    for (int lane = 0; lane < LANES; lane++) {
        for (int64_t i = 0; i < batch.n[lane] && !key_has_grade; i++) batch.grade[i][lane] = all.grade[batch.row(i, lane)];
        const bool is_final = !loses_bits[lane] && (all.ties == STABLE || (key_has_grade && all.ties != MEAN));
        if (!is_final) find_ties(batch, lane, &batch.edges[lane * most_edges], n_edges[lane], loses_bits[lane]);
    }
    return -1;
}

// -- the three kinds of sums ----------------------------------------------------------------------------------------
//
// Each writes what the first ranks add to the sum, as the mean over all orders of tied documents. A tie of one grade
// keeps its exact value, because rounding could lift a perfect ranking above 1.

// Writes a value for each document by its grade.
template <int LANES>
void look_up(const double* by_grade, Batch<LANES>& batch, int64_t depth) {
    const int32_t* grade = reinterpret_cast<const int32_t*>(batch.grade.data());
    double* term = reinterpret_cast<double*>(batch.term.data());
    for (int64_t i = 0; i < depth * LANES; i++) term[i] = by_grade[grade[i]];
}

// What a rank adds: by_grade[g] x by_rank[rank]. In a tie it is the mean of the documents.
template <int LANES>
void gains(const Family& family, Batch<LANES>& batch, int64_t depth) {
    if (family.by_row) {
        for (int lane = 0; lane < LANES; lane++) {
            for (int64_t i = 0; i < depth; i++) {
                batch.term[i][lane] = i < batch.n[lane] ? family.by_row[batch.row(i, lane)] : 0.0;
            }
        }
    } else {
        look_up(family.by_grade, batch, depth);
    }
    for (const Tie& tie : batch.ties) {
        if (tie.above >= depth || !(tie.is_mixed() || family.by_row)) continue;
        double sum;
        if (family.by_row) {
            batch.value.clear();
            for (int64_t i = tie.above; i < tie.end(); i++) batch.value.push_back(family.by_row[batch.row(i, tie.lane)]);
            sum = pairwise_sum(batch.value.data(), tie.size);
        } else {
            sum = batch.sum(tie, family.by_grade);
        }
        for (int64_t i = tie.above; i < std::min(depth, tie.end()); i++) batch.term[i][tie.lane] = sum / tie.size;
    }
}

// What a rank adds: the sum of by_grade so far if by_grade[g] > 0, divided by by_rank[rank]. Let a tie of m documents have
// r with a value above 0, g on average, and let G be the sum above it. Its j-th rank then has the expectation
// r/m (G + g + (j - 1) g (r - 1)/(m - 1)).
template <int LANES>
void precisions(const Family& family, Batch<LANES>& batch, int64_t depth) {
    using Doubles = typename Batch<LANES>::Doubles;
    look_up(family.by_grade, batch, depth);
    Doubles sum = {};
    for (int64_t i = 0; i < depth; i++) {
        const Doubles value = batch.term[i];
        batch.so_far[i] = sum += value;
        batch.term[i] = value > 0 ? sum : Doubles{};
    }
    for (const Tie& tie : batch.ties) {
        if (tie.above >= depth || !tie.is_mixed()) continue;
        const double total = batch.sum(tie, family.by_grade);
        double r = 0;
        for (const Run* run = batch.begin(tie); run < batch.end(tie); run++) r += family.by_grade[run->grade] > 0 ? run->n : 0;
        const double g = total / std::max(r, 1.0), others = g * ((r - 1) / (tie.size - 1)), share = r / tie.size;
        const double first = g + (tie.above ? batch.so_far[tie.above - 1][tie.lane] : 0.0);
        for (int64_t i = tie.above; i < std::min(depth, tie.end()); i++) {
            batch.term[i][tie.lane] = share * (first + (i - tie.above) * others);
        }
    }
}

// The probability of h relevant documents among t of m, r of them relevant, for h = 0 ... t. Ratios of neighbours are
// multiplied outwards from the most likely h. The products fall in both directions, so no digit is lost.
void hypergeometric(int64_t m, int64_t r, int64_t t, double* p) {
    const int64_t lowest = std::max<int64_t>(0, r + t - m), highest = std::min(r, t);
    const int64_t mode = std::clamp(static_cast<int64_t>((t + 1.0) * (r + 1.0) / (m + 2.0)), lowest, highest);
    const auto to_next = [=](int64_t h) { return double(r - h) * (t - h) / (double(h + 1) * (m - r - t + h + 1)); };
    std::fill_n(p, t + 1, 0.0);
    p[mode] = 1;
    for (int64_t h = mode; h < highest; h++) p[h + 1] = p[h] * to_next(h);
    for (int64_t h = mode; h > lowest; h--) p[h - 1] = p[h] / to_next(h - 1);
    const double total = std::accumulate(p, p + t + 1, 0.0);
    for (int64_t h = 0; h <= t; h++) p[h] /= total;
}

// The probabilities to stop at the first ranks of a tie, for a user who reaches it: the means over all orders of its
// documents, whose probabilities `stop` gives by grade. So many ranks are needed; `s` and `t` have room for them, and
// `spare` for four times as many.
//
// Let S_j be the mean, over all sets of j documents, of the probability to continue past all of them, and T_j the
// probability to stop at the j-th rank. They are known for documents at which nobody stops (S = 1, T = 0); each further
// document mixes them with positive weights, so no digit is lost. So do many documents of one grade, at once: h of the
// first j documents are then from before, with the hypergeometric probability.
//
// For few ranks, a polynomial is faster. With q = 1 - p, let E be the product of (1 + q x) over all m documents, and F the
// sum over each document of p times that product over the others. Their coefficients are sums over sets of j documents, so
// T_{j+1} = F_j / (m C(m-1, j)). A further run multiplies E by e = (1 + q x)^n, and turns F into F e + E f, where
// f = n p (1 + q x)^(n-1). All numbers are positive.
template <class Stop>
void stops_in_tie(const Run* begin, const Run* end, int64_t size, Stop stop, int64_t ranks, double* s, double* t,
                  double* spare) {
    int64_t n_zero = 0, n_one = 0;
    for (const Run* run = begin; run < end; run++) {
        const double p = stop(run->grade);
        (p == 0.0 ? n_zero : n_one) += p == 0.0 || p == 1.0 ? run->n : 0;
    }
    if (n_zero + n_one == size) {  // the first of n_one documents is at rank j + 1
        const double m = size, r = n_one;
        t[0] = r / m;
        for (int64_t j = 1; j < ranks; j++) t[j] = t[j - 1] * (std::max(m - j - r + 1, 0.0) / std::max(m - j, 1.0));
        if (ranks > n_zero) {  // somebody who gets here stops for certain: in all, exactly 1
            double sum = 0, lost = 0;
            for (int64_t j = 0; j < n_zero; j++) add(t[j], sum, lost);
            t[n_zero] = std::max(1 - sum - lost, 0.0);
        }
        return;
    }
    if (ranks <= USUAL_RANKS) {
        double E[USUAL_RANKS] = {1}, F[USUAL_RANKS] = {}, e[USUAL_RANKS], f[USUAL_RANKS];
        for (const Run* run = begin; run < end; run++) {
            const double p = stop(run->grade), n = run->n;
            e[0] = 1, f[0] = n * p;
            for (int64_t h = 1; h < ranks; h++) {
                const double factor = (1 - p) / h;
                e[h] = e[h - 1] * (std::max(n - h + 1, 0.0) * factor), f[h] = f[h - 1] * (std::max(n - h, 0.0) * factor);
            }
            for (int64_t j = ranks - 1; j >= 0; j--) {
                double new_E = 0, new_F = 0;
                for (int64_t h = 0; h <= j; h++) new_E += E[h] * e[j - h], new_F += F[h] * e[j - h] + E[h] * f[j - h];
                E[j] = new_E, F[j] = new_F;
            }
        }
        double n_choices = size;  // of j documents, and the one that follows
        for (int64_t j = 0; j < ranks; n_choices *= double(size - 1 - j) / (j + 1), j++) t[j] = F[j] / n_choices;
        return;
    }
    std::fill_n(s, ranks, 0.0), std::fill_n(t, ranks, 0.0);
    std::fill_n(s, std::min(ranks, n_zero + 1), 1.0);
    double n = n_zero;
    for (const Run* run = begin; run < end; run++) {
        const double p = stop(run->grade);
        if (p != 0.0 && run->n > ranks) {
            double *new_s = spare, *new_t = new_s + ranks, *power = new_t + ranks, *probability = power + ranks;
            power[0] = 1;
            for (int64_t j = 1; j < ranks; j++) power[j] = power[j - 1] * (1 - p);
            for (int64_t j = 0; j < ranks; j++) {
                const double n_left = n + run->n - j;
                hypergeometric(static_cast<int64_t>(n) + run->n, static_cast<int64_t>(n), j, probability);
                new_s[j] = new_t[j] = 0;
                for (int64_t h = 0; h <= j; h++) {
                    const double weight = probability[h] * power[j - h];
                    new_s[j] += weight * s[h];
                    new_t[j] += weight * (std::max(n - h, 0.0) / n_left * t[h] + (run->n - (j - h)) / n_left * s[h] * p);
                }
            }
            std::copy_n(new_s, ranks, s), std::copy_n(new_t, ranks, t);
            n += run->n;
            continue;
        }
        for (int64_t i = p == 0.0 ? run->n : 0; i < run->n; i++) {
            n++;
            for (int64_t j = ranks - 1; j > 0; j--) {  // s[j] is S_j, and t[j] is T_{j+1}
                const double moved = (1 - p) * j / n;
                t[j] = t[j] * (std::max(n - j - 1, 0.0) / n) + t[j - 1] * moved + s[j] * (p / n);
                s[j] = s[j] * (std::max(n - j, 0.0) / n) + s[j - 1] * moved;
            }
            t[0] = t[0] * ((n - 1) / n) + p / n;
        }
    }
}

// What a rank adds: the probability that the user stops there, times by_rank[rank].
template <int LANES>
void cascade(const Family& family, Batch<LANES>& batch, int64_t depth) {
    using Doubles = typename Batch<LANES>::Doubles;
    Doubles scale, reach = Doubles{} + 1.0;
    for (int lane = 0; lane < LANES; lane++) scale[lane] = family.scale ? family.scale[batch.query[lane]] : 1.0;
    look_up(family.by_grade, batch, depth);
    for (int64_t i = 0; i < depth; i++) {
        Doubles p = batch.term[i] * scale;
        p = p < 1.0 ? p : Doubles{} + 1.0;
        batch.term[i] = p * reach;
        batch.so_far[i] = reach *= 1.0 - p;
        if (i % USUAL_RANKS == USUAL_RANKS - 1 && !is_any(reach > NEGLIGIBLE)) {
            std::fill(&batch.term[i + 1], &batch.term[depth], Doubles{});
            std::fill(&batch.so_far[i + 1], &batch.so_far[depth], Doubles{});
            break;
        }
    }
    const Array<double>& stops = batch.t;
    for (const Tie& tie : batch.ties) {
        if (tie.above >= depth || !tie.is_mixed()) continue;
        const double reached = tie.above ? batch.so_far[tie.above - 1][tie.lane] : 1.0;
        const int64_t end = std::min(depth, tie.end());
        int64_t ranks = reached > NEGLIGIBLE ? std::max<int64_t>(std::min(end, family.effective_depth) - tie.above, 0) : 0;
        if (ranks > 0) {
            const auto stop = [&](int64_t grade) { return std::min(family.by_grade[grade] * scale[tie.lane], 1.0); };
            if (ranks > USUAL_RANKS) {  // S_j <= (1 - mean)^j (Maclaurin), so nobody gets further than this
                double sum = 0;
                for (const Run* run = batch.begin(tie); run < batch.end(tie); run++) sum += run->n * stop(run->grade);
                const double mean = std::min(sum / tie.size, 1.0);
                const double furthest = std::max(std::ceil(std::log(NEGLIGIBLE) / std::log1p(-mean)), 1.0);
                if (furthest < ranks) ranks = static_cast<int64_t>(furthest);
            }
            stops_in_tie(batch.begin(tie), batch.end(tie), tie.size, stop, ranks, batch.s.data(), stops.data(),
                         batch.spare.data());
        }
        for (int64_t j = 0; j < ranks; j++) batch.term[tie.above + j][tie.lane] = reached * stops[j];
        for (int64_t i = tie.above + ranks; i < end; i++) batch.term[i][tie.lane] = 0.0;
    }
}

// -- from what ranks add to values --------------------------------------------------------------------------------------

// Writes the values of one cutoff: the sums, divided by what the metric declares.
template <int LANES>
void write(const Family& family, const Batch<LANES>& batch, int64_t c, const typename Batch<LANES>::Doubles& sum,
           double* out) {
    const int64_t n_queries = batch.all.n_queries;
    const double* divisor = family.divisor + c * n_queries;
    typename Batch<LANES>::Doubles divisors;
    for (int lane = 0; lane < LANES; lane++) divisors[lane] = divisor[batch.query[lane]];
    const auto quotient = sum / divisors;
    double* values = out + family.out_row[c] * n_queries;
    for (int lane = 0; lane < batch.n_lanes; lane++) values[batch.query[lane]] = quotient[lane];
}

// Adds up the terms down to each cutoff, with what the additions lose, so the error does not grow with the length of the
// list.
template <int LANES>
void write_sums(const Family& family, const Batch<LANES>& batch, int64_t depth, double* out) {
    using Doubles = typename Batch<LANES>::Doubles;
    Doubles sum = {}, lost = {};
    int64_t rank = 0;
    for (int64_t c = 0; c < family.n_cutoffs; c++) {
        for (const int64_t end = std::min(family.cutoff[c], depth); rank < end; rank++) {
            Doubles by_rank = Doubles{} + family.by_rank[rank];
            if (family.by_rank_start) {
                for (int lane = 0; lane < LANES; lane++) {
                    by_rank[lane] = rank < batch.n[lane] ? family.by_rank[family.by_rank_start[batch.query[lane]] + rank] : 1;
                }
            }
            add(family.kind == PRECISIONS ? batch.term[rank] / by_rank : batch.term[rank] * by_rank, sum, lost);
        }
        write(family, batch, c, sum + lost, out);
    }
}

// The sum of the precisions at the hits down to each cutoff, divided by the number of hits. Both are random where a tie
// spans the cutoff. Given that h of the tie's relevant documents are at its t ranks within, they are in any order
// there: the j-th rank adds (h/t) (b + 1 + (j-1) (h-1)/(t-1)) / rank, where b is the number of hits above the tie.
template <int LANES>
void write_precisions_by_hits(const Family& family, Batch<LANES>& batch, int64_t depth, double* out) {
    using Doubles = typename Batch<LANES>::Doubles;
    const double* by_rank = family.by_rank;
    const Array<Doubles>&hits = batch.so_far, &sum = batch.term;  // the latter of the precisions so far
    for (int64_t i = 0; i < depth; i++) sum[i] = (i ? sum[i - 1] : Doubles{}) + sum[i] / by_rank[i];
    for (int64_t c = 0; c < family.n_cutoffs; c++) {
        const int64_t end = std::min(family.cutoff[c], depth);
        Doubles ratio = {};
        if (end) ratio = sum[end - 1] / (hits[end - 1] > 1.0 ? hits[end - 1] : Doubles{} + 1.0);
        for (const Tie& tie : batch.ties) {
            if (!tie.is_mixed() || tie.above >= end || tie.end() <= end) continue;
            const int64_t t = end - tie.above;
            const double b = tie.above ? hits[tie.above - 1][tie.lane] : 0.0;
            const double sum_above = tie.above ? sum[tie.above - 1][tie.lane] : 0.0;
            const double r = batch.sum(tie, family.by_grade);
            double first = 0, second = 0;
            for (int64_t j = 0; j < t; j++) first += 1 / by_rank[tie.above + j], second += j / by_rank[tie.above + j];
            const Array<double>& probability = batch.t;
            hypergeometric(tie.size, static_cast<int64_t>(r), t, probability.data());
            double expected = 0;
            for (int64_t h = 0; h <= t; h++) {
                const double others = std::max(h - 1.0, 0.0) / std::max(t - 1.0, 1.0);
                const double in_tie = double(h) / t * ((b + 1) * first + others * second);
                expected += probability[h] * ((sum_above + in_tie) / std::max(b + h, 1.0));
            }
            ratio[tie.lane] = expected;
        }
        write(family, batch, c, ratio, out);
    }
}

template <int LANES>
void evaluate_family(const Family& family, Batch<LANES>& batch, double* out) {
    const int64_t depth = std::min(family.cutoff[family.n_cutoffs - 1], batch.width);
    switch (family.kind) {
        case GAINS: gains(family, batch, depth); break;
        case CASCADE: cascade(family, batch, depth); break;
        case PRECISIONS: precisions(family, batch, depth); break;
        case PRECISIONS_BY_HITS: precisions(family, batch, depth); return write_precisions_by_hits(family, batch, depth, out);
    }
    write_sums(family, batch, depth, out);
}

// -- threads ----------------------------------------------------------------------------------------------------------
//
// They are started in each call, so that none is missed after a fork. The caller waits until all parts of its work are done,
// but not for a thread that got none, or that has not ended yet: on a busy machine either can take milliseconds. Such a
// thread reads no more than its `Crew`. (std::thread would need the C++ library, and OpenMP's threads outlive the call.)

constexpr int USUAL_WAIT = 100'000;  // looks at a counter, for the last part of another thread

template <class Work>
struct Crew {
    const Work work;  // called with the first part that a thread gets, and with the crew for all others
    const int64_t n_parts;  // which ends a loop over them: after the last part, what the work refers to may be gone
    std::atomic<int64_t> n_taken{0}, n_done{0}, n_members{1};

    int64_t take() { return std::min(n_taken++, n_parts); }  // `n_parts` is none
    int64_t take_next() { return n_done++, take(); }

    static void join_in(void* crew) {
        Crew& self = *static_cast<Crew*>(crew);
        const int64_t part = self.take();
        if (part < self.n_parts) self.work(part, self);
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
    if (pthread_create(&thread, nullptr, [](void* of) -> void* { return RUN(of), nullptr; }, crew)) return false;
#if defined(__linux__)  // often puts it on the processor of its starter, and moves it only after milliseconds
    cpu_set_t others;
    if (!sched_getaffinity(0, sizeof others, &others) && CPU_COUNT(&others) > 1) {
        CPU_CLR(sched_getcpu(), &others);
        pthread_setaffinity_np(thread, sizeof others, &others);
    }
#endif
    return !pthread_detach(thread);
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
        if (i > USUAL_WAIT) give_way();  // to other programs, too, for milliseconds
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
        const int64_t failure = n ? process(several, begin, static_cast<int>(n)) : process(one, begin, n = 1);
        if (failure != -1) return failure;
    }
    return -1;
}

// Does the same in several threads. Each takes a window of queries at a time.
template <class Use>
int64_t for_each_query(Documents all, const double* score, const int64_t* queries, int64_t n_queries, int64_t window,
                       int64_t n_threads, const Use& use) {
    all.score = score;
    std::atomic<int64_t> failure{-1};
    const int64_t n_windows = (n_queries - 1) / window + 1;
    const bool is_done = in_threads(n_threads, n_windows, [&](int64_t part, auto& crew) {
        Batch<MOST_LANES> several(all);
        Batch<1> one(all);
        for (; part < crew.n_parts; part = crew.take_next()) {
            if (failure != -1) continue;
            const int64_t begin = part * window, n = std::min(window, n_queries - begin);
            const int64_t of_window = for_each_batch(all, queries + begin, n, use, several, one);
            if (of_window != -1) failure = of_window;
        }
    });
    return is_done ? failure.load() : -2;
}

}  // namespace

// -- what Python calls -------------------------------------------------------------------------------------------------

#pragma GCC visibility push(default)
extern "C" {

// Writes a value for each cutoff of each family and each of some queries: (values x all queries). A thread takes so many
// queries at a time as a window has. Returns -1, or a row whose score is NaN, or -2 if there is not enough memory.
int64_t evaluate(const Documents* documents, const double* score, const int64_t* queries, int64_t n_queries,
                 const Family* families, int64_t n_families, double* out, int64_t window, int64_t n_threads) {
    const auto use = [=](auto& batch) {
        for (int64_t f = 0; f < n_families; f++) evaluate_family(families[f], batch, out);
    };
    return for_each_query(*documents, score, queries, n_queries, window, n_threads, use);
}

// Writes the row, the grade index and whether a document is tied with the next one, for each ranked document, query after
// query and by rank. Rows and ties may be null. Returns what `evaluate` returns.
int64_t rank(const Documents* documents, const double* score, const int64_t* queries, int64_t n_queries, int64_t* rows,
             int32_t* grades, bool* is_tied_with_next, int64_t window, int64_t n_threads) {
    const auto use = [=](auto& batch) {
        for (int lane = 0; lane < batch.n_lanes; lane++) {
            const int64_t first = batch.first[lane];
            for (int64_t i = 0; i < batch.n[lane]; i++) grades[first + i] = batch.grade[i][lane];
            for (int64_t i = 0; i < batch.n[lane] && rows; i++) rows[first + i] = batch.row(i, lane);
        }
        for (const Tie& tie : batch.ties) {
            std::fill_n(is_tied_with_next + batch.first[tie.lane] + tie.above, tie.size - 1, true);
        }
    };
    return for_each_query(*documents, score, queries, n_queries, window, n_threads, use);
}

// Writes the mean of each row of a matrix without its NaN, and their number. The mean of nothing is NaN. Returns -1, or -2
// if there is not enough memory.
int64_t means(const double* values, int64_t n_rows, int64_t n_columns, double* mean, int64_t* n_nan, int64_t n_threads) {
    std::atomic<int64_t> failure{-1};
    const bool is_done = in_threads(n_threads, n_rows, [&](int64_t row, auto& crew) {
        Array<double> kept;
        for (; row < crew.n_parts; row = crew.take_next()) {
            const double* x = values + row * n_columns;
            double sum = pairwise_sum(x, n_columns);
            int64_t n = n_columns;
            if (std::isnan(sum) && kept.make_room(n_columns + 1)) {
                n = 0;
                for (int64_t i = 0; i < n_columns; i++) kept[n] = x[i], n += !std::isnan(x[i]);
                sum = pairwise_sum(kept.data(), n);
            } else if (std::isnan(sum)) {
                failure = -2;
            }
            mean[row] = sum / n, n_nan[row] = n_columns - n;
        }
    });
    return is_done ? failure.load() : -2;
}

// Writes the sums of each query's values so far; the values are query after query, from `start` on.
void accumulate(const double* values, const int64_t* start, int64_t n_queries, double* sums) {
    for (int64_t query = 0; query < n_queries; query++) {
        double sum = 0;
        for (int64_t i = start[query]; i < start[query + 1]; i++) sums[i] = sum += values[i];
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
