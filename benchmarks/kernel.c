/* Algorithm 2 round by round, as stopwise.simulation.kernels.play does it with jumps off: to see what
   a compiler that is not numba makes of the same work. Built and called by bench_simulation.py. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define FEW 8
static const int64_t FOREVER = 1LL << 53;
static const double HAIR = 1 - 1e-12;

typedef struct {
    int64_t K, R, P;
    const double *prices;  /* (K, K), by deeper stage, then shallower */
    const int8_t *adds;    /* (R, P) */
    const double *keep;    /* (R,) */
    const int64_t *ends;   /* (R, 2) */
    const int64_t *alike;  /* (K, R) */
    double exploration;
    uint64_t state, step;
} World;

static inline uint64_t word_at(uint64_t state, uint64_t step, uint64_t n) {
    uint64_t z = state + n * step;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

static inline int64_t pick(const World *w, int64_t t) {
    double x = (double)(int64_t)(word_at(w->state, w->step, (uint64_t)t) >> 11) * 0x1p-53 * (double)w->R;
    int64_t column = (int64_t)x;
    return w->ends[2 * column + (x - (double)column < w->keep[column])];
}

static inline int above(double price, int64_t n, int64_t sum, double width) {
    return n == 0 || price < (double)sum / (double)n + sqrt(width / (double)n);
}

static int64_t first_accepted(const World *w, const int64_t *seen, const int64_t *sums, double width) {
    int64_t K = w->K;
    for (int64_t i = 0; i < K - 1; i++) {
        int64_t j = i + 1;
        while (j < K && !above(w->prices[j * K + i], seen[j * K + i], sums[j * K + i], width)) j++;
        if (j == K) return i;
    }
    return K - 1;
}

static int64_t accepted_for(const World *w, const int64_t *seen, const int64_t *sums, int64_t stage) {
    int64_t K = w->K, until = FOREVER;
    for (int64_t j = stage + 1; j < K; j++) {
        double n = (double)seen[j * K + stage];
        double spare = w->prices[j * K + stage] - (double)sums[j * K + stage] / n;
        double exponent = fmin(n * spare * spare / w->exploration, log((double)FOREVER));
        int64_t last = (int64_t)(exp(exponent) * HAIR);
        if (last < until) until = last;
    }
    return until;
}

static int64_t above_for(double price, int64_t n, int64_t sum, double width) {
    if (price <= 0) return FOREVER;
    double x = (sqrt(width) + sqrt(width + 4 * price * (double)sum)) / (2 * price);
    return (int64_t)fmin(x * x * HAIR - (double)n, (double)FOREVER);
}

static int64_t rejected_for(const World *w, const int64_t *seen, const int64_t *sums, int64_t i,
                            int64_t stage, double width, int64_t most) {
    int64_t K = w->K, longest = 1;
    for (int64_t j = stage + 1; j < K; j++)
        if (above(w->prices[j * K + i], seen[j * K + i], sums[j * K + i], width)) return most;
    for (int64_t j = i + 1; j <= stage; j++) {
        int64_t n = seen[j * K + i], sum = sums[j * K + i];
        double price = w->prices[j * K + i];
        if (n > 0 && above(price, n, sum, width)) {
            int64_t rounds = above_for(price, n, sum, width);
            if (rounds > longest) longest = rounds;
            if (longest >= most) return most;
        }
    }
    return longest;
}

static void add(const int8_t *row, double *fresh, int64_t n_pairs, double times) {
    for (int64_t k = 0; k < n_pairs; k++) fresh[k] += times * (double)row[k];
}

void play(const World *w, int64_t horizon, int64_t *stops) {
    int64_t K = w->K, t = 0;
    int64_t *seen = calloc((size_t)(K * K), 8), *sums = calloc((size_t)(K * K), 8);
    int64_t *counts = calloc((size_t)w->R, 8);
    double *fresh = calloc((size_t)w->P + 1, 8);
    while (t < horizon) {
        double width = w->exploration * log((double)(t + 1));
        int64_t stage = first_accepted(w, seen, sums, width);
        int64_t rounds = accepted_for(w, seen, sums, stage) - t;
        for (int64_t i = stage - 1; i >= 0 && rounds > 1; i--)
            rounds = rejected_for(w, seen, sums, i, stage, width, rounds);
        if (rounds < 1) rounds = 1;
        if (rounds > horizon - t) rounds = horizon - t;
        int64_t n_pairs = stage * (stage + 1) / 2;
        if (rounds <= FEW) {
            for (int64_t s = t; s < t + rounds; s++) add(w->adds + pick(w, s) * w->P, fresh, n_pairs, 1);
        } else {
            for (int64_t s = t; s < t + rounds; s++) counts[pick(w, s)]++;
            const int64_t *alike = w->alike + stage * w->R;
            for (int64_t r = 0; r < w->R; r++)
                if (alike[r] != r) {
                    counts[alike[r]] += counts[r];
                    counts[r] = 0;
                }
            for (int64_t r = 0; r < w->R; r++)
                if (counts[r] > 0) {
                    add(w->adds + r * w->P, fresh, n_pairs, (double)counts[r]);
                    counts[r] = 0;
                }
        }
        int64_t k = 0;
        for (int64_t j = 0; j <= stage; j++) {
            for (int64_t i = 0; i < j; i++, k++) {
                sums[j * K + i] += (int64_t)fresh[k];
                seen[j * K + i] += rounds;
                fresh[k] = 0;
            }
            seen[j * K + j] += rounds;
        }
        stops[stage] += rounds;
        t += rounds;
    }
    free(seen);
    free(sums);
    free(counts);
    free(fresh);
}
