// The compiled core: it ranks the documents of every query, and adds up what metrics declare while the data of the
// query are in the processor's cache.
//
// Eight queries are processed side by side (four or two, where registers are narrower). A row of a matrix holds one
// rank of each of them, in a register of eight lanes, so the sort and the sums take one instruction for all eight:
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
//
// Read it in this order; the compiler sees one file.
//
//     interface.hpp    what Python passes
//     lanes.hpp        registers of several lanes, and the matrices of a batch
//     ranking.hpp      the sort, and which documents are tied
//     ties.hpp         probabilities within a tie
//     sums.hpp         the three kinds of sums, and the values
//     threads.hpp      threads of one call
//     letor.hpp        numbers in LETOR files
//     core.cpp         what Python calls

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "The core needs exact arithmetic with NaN and infinity: compile it without -ffast-math."
#endif

#include "letor.hpp"
#include "ranking.hpp"
#include "sums.hpp"
#include "threads.hpp"

namespace {

// Ranks some queries, in which neighbours have similar lengths, and calls `use` for every batch of them. Returns -1, or
// a row whose score is NaN, or -2 if there is not enough memory.
template <class Use>
int64_t for_each_batch(const Documents& all, const int64_t* queries, int64_t n_queries, Use use,
                       Batch<MOST_LANES>& several, Batch<1>& one) {
    const auto is_long = [&](int64_t i) {
        return all.start[queries[i] + 1] - all.start[queries[i]] > MOST_IN_A_NETWORK;
    };
    const auto process = [&](auto& batch, int64_t begin, int n) {
        if (!batch.take(queries + begin, n)) return int64_t{-2};
        const int64_t failure = rank_batch(batch);
        if (failure == -1) use(batch);
        return failure;
    };
    for (int64_t begin = 0, n; begin < n_queries; begin += n) {
        for (n = 0; n < MOST_LANES && begin + n < n_queries && !is_long(begin + n); n++) {}
        for (int64_t i = begin + n; i < std::min(begin + n + MOST_LANES, n_queries); i++) {  // memory is read in leaps
            if (all.start[queries[i]] == all.start[queries[i] + 1]) continue;  // after the last row there is none
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
    all.ties = ties, all.score = score;
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
// takes a window of queries at a time. With IDEAL, which needs values by grade, the means over all orders are written,
// too, if `random` is not null. Returns -1, or a row whose score is NaN, or -2 if there is not enough memory.
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

// Writes the row, the grade index and whether a document is tied with the next one, for each ranked document, query
// after query and by rank. Rows and ties may be null. Returns what `evaluate` returns.
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

// Writes the mean of each row of a matrix without its NaN, and its `SumsOfMean` as five numbers if `sums` is not null.
// All rows have the same weights; null is 1. The mean of nothing is NaN. Returns -1, or -2 if there is not enough
// memory.
int64_t means(const double* values, const double* weight, int64_t n_rows, int64_t n_columns, double* mean, double* sums,
              int64_t n_threads) {
    const auto work = [=](int64_t row, auto& crew) {
        for (; row < crew.n_parts; row = crew.take_next()) {
            const double* const x = values + row * n_columns;
            const SumsOfMean of_row =
                weight ? sums_of_mean<true>(x, weight, n_columns) : sums_of_mean<false>(x, weight, n_columns);
            mean[row] = of_row.mean();
            if (sums) std::memcpy(sums + 5 * row, &of_row, sizeof of_row);
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

// Reads the pairs of LETOR text, which ends with a null character: see `read_pairs`.
int64_t letor(const char* text, int64_t n_bytes, int64_t* number, double* value, int64_t* end, int64_t* left,
              int64_t* has_long) {
    return read_pairs(text, n_bytes, number, value, end, left, has_long);
}

// The fields of a struct and their offsets, or the values of an enum: the last one has no name.
const Name* names(int64_t of) {
    const Name* const all[] = {FIELDS_OF_DOCUMENTS, FIELDS_OF_DECLARATION, TIES, KINDS};
    return all[of];
}

// A checksum of the files of the core when they were compiled.
int64_t source_crc() { return SOURCE_CRC; }

// The newest of x86-64's levels (3: AVX2, 4: AVX-512) that this processor has; 1 if it is of another architecture.
int64_t processor_level() {
#if defined(__x86_64__)
    unsigned a, b, c, d, saved, unused;  // the operating system must save the registers, too
    __cpuid(1, a, b, c, d);
    if (!(c & bit_OSXSAVE)) return 1;
    __asm__("xgetbv" : "=a"(saved), "=d"(unused) : "c"(0));
    __cpuid_count(7, 0, a, b, c, d);
    if ((b & bit_AVX512F) && (b & bit_AVX512BW) && (b & bit_AVX512VL) && (b & bit_AVX512DQ) && (saved & 0xE6) == 0xE6)
        return 4;
    if ((b & bit_AVX2) && (saved & 6) == 6) return 3;
#endif
    return 1;
}

}  // extern "C"
#pragma GCC visibility pop