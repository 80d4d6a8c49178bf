// Probabilities within a tie: how many relevant documents are among its first ranks, and where a user stops.
#pragma once

#include <numeric>

#include "lanes.hpp"

namespace {

// The probability of h relevant documents among t of m, r of them relevant, for the lowest h to the highest, which are
// returned. Ratios of neighbours are multiplied outwards from the most likely h. The products fall in both directions,
// so no digit is lost, and they end where a product no longer counts, which is some standard deviations away.
std::pair<int64_t, int64_t> hypergeometric(int64_t m, int64_t r, int64_t t, double* p) {
    int64_t lowest = std::max<int64_t>(0, r + t - m), highest = std::min(r, t);
    const int64_t mode = std::clamp(static_cast<int64_t>((t + 1.0) * (r + 1.0) / (m + 2.0)), lowest, highest);
    const auto more = [=](int64_t h) { return double(r - h) * (t - h); };  // p[h + 1] / p[h] = more(h) / fewer(h + 1)
    const auto fewer = [=](int64_t h) { return double(h) * (m - r - t + h); };
    p[mode] = 1;
    for (int64_t h = mode; h < highest; h++) {
        p[h + 1] = p[h] * (more(h) / fewer(h + 1));
        if (p[h + 1] < UNCOUNTED) highest = h;
    }
    for (int64_t h = mode; h > lowest; h--) {
        p[h - 1] = p[h] * (fewer(h) / more(h - 1));
        if (p[h - 1] < UNCOUNTED) lowest = h;
    }
    const double total = std::accumulate(p + lowest, p + highest + 1, 0.0);
    for (int64_t h = lowest; h <= highest; h++) p[h] /= total;
    return {lowest, highest};
}

// The probabilities to stop at the first ranks of a tie, or of a tie in each lane, for a user who reaches it, are the
// means over all orders of its documents. Three functions find them. All numbers in them are positive, so no digit is
// lost.

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

// In any tie of up to about a thousand documents. With q = 1 - p, let E be the product of (1 + q x) over all m
// documents, and F the sum over each document of p times that product over the others. Their coefficients are sums over
// sets of j documents, so the probability to stop at the rank j + 1 is F_j / (m C(m-1, j)). A further run multiplies E
// by e = (1 + q x)^n, and turns F into F e + E f, where f = n p (1 + q x)^(n-1). The powers of q are exact to the last
// digit, as 1 - p alone is not.
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

// In a larger tie, whose coefficients would not fit into a double. Let S_j be the mean, over all sets of j documents,
// of the probability to continue past all of them, and T_j the probability to stop at the j-th rank. Without documents,
// S_0 is 1, and nobody stops. Further documents of one grade mix them with positive weights: h of the first j documents
// are then among the n from before, with the hypergeometric probability.
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

// Writes the probabilities for the first of so many ranks, and returns how many are written: nobody gets further.
// `spare` has room for five times as many numbers.
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

}  // namespace
