#include "level_sets.h"

/* Temperatures below the best from which on a set has no weight. */
static const double CUT = 30.0;

/* Sets of the last jobs by what is free: the price of the best, and the sum of the weights of all as a multiple of its
   weight; of each way, and of none, by state, the share of the sets in which the job runs so; and how much of the whole
   comes to a state. */
typedef struct {
    int64_t num_jobs, num_states, num_slots;
    const int64_t *first, *after;
    double *most, *sums, *without, *with, *reached;
    uint8_t *is_reached;
} level_sets;

/* Return the weight of what is worth so much less than the best. */
static inline double weight_of(double less, double temperature) {
    return less <= 0.0 ? 1.0 : less < CUT * temperature ? exp(-less / temperature) : 0.0;
}

/* Add a job to the sets in a slot. States only lead to lower ones, so those above are done with. */
static void add_job(level_sets *of, int64_t job, const double *prices, double temperature) {
    const int64_t first = of->first[job], last = of->first[job + 1];
    for (int64_t state = of->num_states - 1; state >= 0; state--) {
        if (!of->is_reached[job * of->num_states + state]) continue;
        double best = of->most[state];
        for (int64_t way = first; way < last; way++) {
            const int64_t to = of->after[way * of->num_states + state];
            if (to < of->num_states) best = later(best, of->most[to] + prices[way * of->num_slots]);
        }
        double *without = of->without + job * of->num_states + state;
        double total = *without = of->sums[state] * weight_of(best - of->most[state], temperature);
        for (int64_t way = first; way < last; way++) {
            const int64_t to = of->after[way * of->num_states + state];
            double *with = of->with + way * of->num_states + state;
            *with = 0.0;
            if (to >= of->num_states) continue;
            *with = of->sums[to] * weight_of(best - of->most[to] - prices[way * of->num_slots], temperature);
            total += *with;
        }
        const double share = 1.0 / total;
        *without *= share;
        for (int64_t way = first; way < last; way++) of->with[way * of->num_states + state] *= share;
        of->most[state] = best;
        of->sums[state] = total;
    }
}

/* Note which states the jobs before each lead to. */
static void note_reached(level_sets *of) {
    of->is_reached[of->num_states - 1] = 1;
    for (int64_t job = 0; job + 1 < of->num_jobs; job++) {
        const uint8_t *here = of->is_reached + job * of->num_states;
        uint8_t *next = of->is_reached + (job + 1) * of->num_states;
        for (int64_t state = 0; state < of->num_states; state++) {
            if (!here[state]) continue;
            next[state] = 1;
            for (int64_t way = of->first[job]; way < of->first[job + 1]; way++) {
                const int64_t to = of->after[way * of->num_states + state];
                if (to < of->num_states) next[to] = 1;
            }
        }
    }
}

/* Write the shares of all ways in a slot, from everything free on. */
static void share_ways(level_sets *of, double *shares) {
    memset(of->reached, 0, (size_t)of->num_states * sizeof(double));
    of->reached[of->num_states - 1] = 1.0;
    for (int64_t job = 0; job < of->num_jobs; job++) {
        for (int64_t way = of->first[job]; way < of->first[job + 1]; way++) shares[way * of->num_slots] = 0.0;
        for (int64_t state = 0; state < of->num_states; state++) {
            const double share = of->reached[state];
            if (share <= 0.0) continue;
            of->reached[state] = share * of->without[job * of->num_states + state];
            for (int64_t way = of->first[job]; way < of->first[job + 1]; way++) {
                const double with = share * of->with[way * of->num_states + state];
                if (with <= 0.0) continue;
                shares[way * of->num_slots] += with;
                of->reached[of->after[way * of->num_states + state]] += with;
            }
        }
    }
}

int64_t level_sets_share(
    int64_t num_jobs, int64_t num_ways, int64_t num_states, int64_t num_slots, const int64_t *first, const int64_t *after,
    const double *prices, double temperature, double *best, double *soft, double *shares) {
    if (num_states < 1) return FAULT(OUT_OF_RANGE, 2);
    if (!are_firsts(first, num_jobs + 1, num_ways)) return FAULT(OUT_OF_ORDER, 4);
    for (int64_t i = 0; i < num_ways * num_states; i++)
        if (after[i] != num_states && (after[i] < 0 || after[i] >= i % num_states)) return FAULT(OUT_OF_RANGE, 5);
    if (!are_numbers(prices, num_ways * num_slots)) return FAULT(NOT_A_NUMBER, 6);
    if (!(temperature > 0.0)) return FAULT(OUT_OF_RANGE, 7);
    level_sets of = {.num_jobs = num_jobs, .num_states = num_states, .num_slots = num_slots, .first = first, .after = after};
    arena room = {NULL, 0};
    for (int pass = 0; pass < 2; pass++) {
        of.most = PLACE(&room, num_states, double);
        of.sums = PLACE(&room, num_states, double);
        of.reached = PLACE(&room, num_states, double);
        of.without = PLACE(&room, num_jobs * num_states, double);
        of.with = PLACE(&room, num_ways * num_states, double);
        of.is_reached = PLACE(&room, larger(num_jobs, 1) * num_states, uint8_t);
        if (!pass && !make_room(&room)) return FAULT(NO_MEMORY, 0);
    }
    note_reached(&of);
    for (int64_t slot = 0; slot < num_slots; slot++) {
        for (int64_t state = 0; state < num_states; state++) {
            of.most[state] = 0.0;
            of.sums[state] = 1.0;
        }
        for (int64_t job = num_jobs - 1; job >= 0; job--) add_job(&of, job, prices + slot, temperature);
        best[slot] = of.most[num_states - 1];
        soft[slot] = best[slot] + temperature * log(of.sums[num_states - 1]);
        share_ways(&of, shares + slot);
    }
    free(room.room);
    return 0;
}
