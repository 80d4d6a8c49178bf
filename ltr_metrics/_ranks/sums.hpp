// The three kinds of sums, and the values of a batch.
//
// Each writes what the first ranks add to the sum, as the mean over all orders of tied documents: first as if no order
// were open; then a walk down the ranks adds up each tie, and one up the ranks hands the result to all of its
// documents. A tie that spans a cutoff is read as a whole, and `write_sums` stops at the cutoff. A tie of equal values
// keeps them, because rounding could lift a perfect ranking above 1. A random order is
// a tie of all documents, whose mean follows from the number of documents of each grade.
#pragma once

#include "ties.hpp"

namespace {

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

// What a rank adds: the sum of by_grade so far if by_grade[g] > 0, divided by by_rank[rank]. Let a tie of m documents
// have r with a value above 0, g on average, and let G be the sum above it. Its j-th rank then has the expectation r/m
// (G + g + (j - 1) g (r - 1)/(m - 1)), which takes one division with the denominator m (m - 1). Returns the rank from
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

// Gains and precisions in a random order.
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
    for (int64_t i = 0; i < depth; i++)
        batch.term[i] = batch.size > double(i) ? first * (1.0 + growth * double(i)) : zero;
}

// What a rank adds: the probability that the user stops there, times by_rank[rank]. Returns the rank from which on it
// is 0.
template <int LANES>
int64_t cascade(const Declaration& declared, Batch<LANES>& batch, int64_t depth, bool is_random) {
    const Doubles<LANES> zero = {}, one = zero + 1.0;
    Doubles<LANES> by_query, reach = one, lost = {};
    for (int lane = 0; lane < LANES; lane++)
        set(by_query, lane, declared.by_query ? declared.by_query[batch.query[lane]] : 1.0);
    Doubles<LANES>* const spare = batch.spare.begin();
    if (is_random)
        return stops_in_tie<LANES>(declared, batch.runs, batch.size, by_query, depth, batch.term.begin(), spare);
    const int64_t with_pairs = std::min(depth + 1, batch.width);
    bool is_over = false;  // whether nobody is left
    for (int64_t i = 0; i < with_pairs; i++) {
        if (i % USUAL_RANKS == 0) {
            reach = reach > NEGLIGIBLE ? reach : zero, lost = reach > 0 ? lost : zero;  // for every lane by itself
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
void write(const Declaration& declared, const Batch<LANES>& batch, int64_t c, const Doubles<LANES>& sum, double* out) {
    const int64_t n_queries = batch.all.n_queries;
    const double* divisor = declared.divisor + c * n_queries;
    Doubles<LANES> divisors;
    for (int lane = 0; lane < LANES; lane++) set(divisors, lane, divisor[batch.query[lane]]);
    const auto quotient = sum / divisors;
    double* values = out + declared.out_row[c] * n_queries;
    for (int lane = 0; lane < batch.n_lanes; lane++) values[batch.query[lane]] = at(quotient, lane);
}

// Adds up the terms down to each cutoff, with what the additions lose, so the error does not grow with the length of
// the list.
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
// there: the j-th rank adds (h/t) (b + 1 + (j-1) (h-1)/(t-1)) / rank, where b is the number of hits above the tie. A
// random order is a tie of all documents.
template <int LANES>
void write_precisions_by_hits(const Declaration& declared, Batch<LANES>& batch, int64_t depth, bool is_random,
                              double* out) {
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
            const double b = above ? at(hits[above - 1], lane) : 0.0,
                         sum_above = above ? at(sum[above - 1], lane) : 0.0;
            double r = 0, first = 0, second = 0, lost_of_first = 0, lost_of_second = 0;
            for (const Run<1>& run : batch.runs_of_tie) r += run.n * declared.by_grade[run.grade];
            for (int64_t j = 0; j < t; j++) {
                add(1 / by_rank[above + j], first, lost_of_first), add(j / by_rank[above + j], second, lost_of_second);
            }
            first += lost_of_first, second += lost_of_second;
            const auto [lowest, highest] =
                hypergeometric(end_of_tie - above, static_cast<int64_t>(r), t, batch.t.begin());
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

}  // namespace
