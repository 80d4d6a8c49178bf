// The ranking of a batch, and which of its documents are tied.
//
// Sorting one integer for each document ranks a query. From the high bits to the low ones it has
//
//     | score, so that smaller means higher | order of equal scores: the grade | position in the query |
//
// The last two overwrite the low bits of the score, so nearly equal scores can come out in the wrong order. Where two
// neighbours agree in the bits that are left, `find_ties` looks at the whole scores, and `repair` sorts them again.
#pragma once

#include "lanes.hpp"

namespace {

inline int64_t bits_of(double score) {
    const double negated = 0.0 - score;  // never -0.0, which would come before 0.0
    int64_t bits;
    std::memcpy(&bits, &negated, sizeof bits);
    return bits;
}

// Batcher's merge exchange (Knuth, volume 3, 5.2.2, algorithm M): the same comparisons for any input, so lanes share
// them.
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

// Sorts by digits of 11 bits, from the lowest above the position on; equal keys keep their order, which is the
// position.
void sort_by_digits(int64_t* key, int64_t* spare, int64_t n, int low_bits) {
    constexpr int BITS = 11, SIZE = 1 << BITS;
    const int64_t* const result = key;
    for (int shift = low_bits; shift < 64; shift += BITS) {
        int64_t count[SIZE] = {};
        const auto digit = [shift](int64_t k) {
            return (static_cast<uint64_t>(k) ^ (1ull << 63)) >> shift & (SIZE - 1);
        };
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
        const int64_t order = all.ties == STABLE  ? 0
                              : all.ties == DOCID ? all.docid[row]
                              : all.ties == BEST  ? -grade
                                                  : grade;
        batch.unsorted.push_back({batch.score_at(i, lane), order, batch.position(i, lane), at(batch.key[i], lane)});
    }
    std::sort(batch.unsorted.begin(), batch.unsorted.end());
    for (int64_t i = begin; i < end; i++) {
        set(batch.key[i], lane, std::get<3>(batch.unsorted[i - begin]));
        set(batch.grade[i], lane, all.grade[batch.row(i, lane)]);
    }
}

// Finds the ties among documents that agree in the bits of the score in the key, as `is_tied` says at first. Where some
// of a query are no ties, or where the key does not hold the order of ties, these documents are sorted again.
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
            const int64_t row = batch.row_at(batch.first[lane] + i);
            const double value = all.score[row];  // read once: another thread may replace it
            if (std::isnan(value)) return row;
            const int64_t bits = bits_of(value);
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

}  // namespace
