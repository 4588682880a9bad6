#include "prices.h"

/* Numbers of parameters, for faults. */
enum { NUM_KINDS = 3, NUM_CELLS = 5, FIRST = 6, COLUMNS, KIND, NEEDS, LOW, HIGH, EDGES };
enum { NUM_RESOURCES_OF_SUMS = 1, NUM_CELLS_OF_SUMS = 2, JOB_TO_SOFTEN = 8, LAST = 9 };
enum { NUM_PRICES = 1, JOB_TO_SHARE = 7 };

/* Starts between two looks at the clock. */
enum { STARTS = 4096 };

/* A start: its cost, then its weight; the cells where it begins and ends, and at which shares of these; its kind. */
typedef struct {
    double value, begin_share, end_share;
    int64_t begin, end, kind;
} seen;

struct starts {
    int64_t num_jobs, num_ways, num_kinds, num_resources, num_cells;
    int64_t *first, *kind, *low, *high, *begin, *end;
    double *release, *duration, *floor, *slope, *least, *needs, *edges, *sums, *flow;
    seen *starts;
    arena kept;
};

/* What starts cost: needs of one kind, and the sums of prices, by resource, until the edges of a job's cells. */
typedef struct {
    const double *edges, *sums, *needs;
    int64_t num_cells, num_resources, stride, is_of_kinds;
    double cut;
} tariff;

/* The cheapest start of a job so far, and how many were written down. */
typedef struct {
    double best;
    int64_t count;
} walked;

/* Return at which share of a cell a point in time is; 0 after the last edge. */
static double share_of(const tariff *t, int64_t cell, double at) {
    if (cell >= t->num_cells) return 0.0;
    return earlier(later((at - t->edges[cell]) / (t->edges[cell + 1] - t->edges[cell]), 0.0), 1.0);
}

/* Return when the ramp of a way leaves its floor, infinity where that is not after its release or behind the edges. */
static double kink_of(const starts *s, const tariff *t, int64_t way) {
    const double slope = s->slope[way], rise = s->floor[way] - s->least[way];
    if (!(slope > 0.0 && 0.0 < rise / slope && rise / slope < t->edges[t->num_cells] - s->release[way])) return INFINITY;
    return s->release[way] + rise / slope;
}

/* Return what a start pays, beside its ramp. */
static double add_paid(const tariff *t, const seen *start, double value) {
    for (int64_t q = 0; q < t->num_resources; q++) {
        const double *sums = t->sums + q * t->stride;
        double paid = sums[start->end] + start->end_share * (sums[start->end + 1] - sums[start->end]);
        paid -= sums[start->begin] + start->begin_share * (sums[start->begin + 1] - sums[start->begin]);
        value += t->needs[start->kind * t->num_resources + q] * paid;
    }
    return value;
}

/* Write down the starts of a way. At each step it begins or ends in the next cell, or is at its kink: so they are at
   most two for a cell, and three more. */
static void walk(const starts *s, const tariff *t, int64_t way, walked *w) {
    const double release = s->release[way], duration = s->duration[way], slope = s->slope[way];
    int64_t begin = s->begin[way], end = s->end[way];
    double start = release, kink = kink_of(s, t, way);
    for (;;) {
        const double ramp = later(slope * (start - release) + s->least[way], s->floor[way]);
        if (ramp > w->best + t->cut) return;
        seen *here = s->starts + w->count++;
        *here = (seen){0.0, share_of(t, begin, start), share_of(t, end, start + duration), begin, end,
                       t->is_of_kinds ? s->kind[way] : 0};
        here->value = add_paid(t, here, ramp);
        w->best = earlier(here->value, w->best);
        if (begin >= t->num_cells) return;
        const double by_start = t->edges[begin + 1];
        const double by_end = end < t->num_cells ? t->edges[end + 1] - duration : INFINITY;
        start = later(earlier(kink, earlier(by_end, by_start)), start);
        if (start >= by_start) begin++;
        if (start >= by_end) end++;
        if (start >= kink) kink = INFINITY;
    }
}

/* Walk all ways of a job, and turn values into weights; return their sum. */
static double weigh(const starts *s, const tariff *t, int64_t job, double temperature, walked *w) {
    *w = (walked){INFINITY, 0};
    for (int64_t way = s->first[job]; way < s->first[job + 1]; way++) walk(s, t, way, w);
    double weight = 0.0;
    for (int64_t k = 0; k < w->count; k++) {
        seen *start = s->starts + k;
        start->value = start->value < w->best + t->cut ? exp((w->best - start->value) / temperature) : 0.0;
        weight += start->value;
    }
    return weight;
}

/* Let a sum of prices flow from where a start begins to where it ends. */
static void add_flow(double *flow, const seen *start, double share) {
    flow[start->end] += share * (1.0 - start->end_share);
    flow[start->end + 1] += share * start->end_share;
    flow[start->begin] -= share * (1.0 - start->begin_share);
    flow[start->begin + 1] -= share * start->begin_share;
}

int64_t starts_soften(
    starts *of, int64_t num_resources, int64_t num_cells, const double *sums, double temperature, double cut,
    double *flow, double *totals, int64_t job, int64_t last, double seconds) {
    if (num_resources != of->num_resources) return FAULT(OUT_OF_RANGE, NUM_RESOURCES_OF_SUMS);
    if (num_cells != of->num_cells) return FAULT(OUT_OF_RANGE, NUM_CELLS_OF_SUMS);
    if (job < 0) return FAULT(OUT_OF_RANGE, JOB_TO_SOFTEN);
    if (last > of->num_jobs) return FAULT(OUT_OF_RANGE, LAST);
    const double until = clock_now() + seconds;
    int64_t looked_at = 0;
    for (; job < last; job++) {
        if (looked_at > STARTS) {
            if (clock_now() > until) break;
            looked_at = 0;
        }
        const tariff t = {of->edges + of->low[job], sums, of->needs, of->high[job] - of->low[job], num_resources,
                          num_cells + 2, true, cut};
        walked w;
        const double weight = weigh(of, &t, job, temperature, &w);
        totals[0] += w.best - temperature * log(weight);
        totals[1] += (double)w.count;
        looked_at += w.count + 1;
        for (int64_t k = 0; k < w.count; k++) {
            const seen *start = of->starts + k;
            for (int64_t q = 0; q < num_resources && start->value > 0.0; q++)
                add_flow(flow + q * t.stride, start,
                         start->value / weight * of->needs[start->kind * num_resources + q]);
        }
    }
    return job;
}

/* Add up the prices of a job until each edge of its cells, and one behind. */
static void add_up_prices(starts *of, const double *edges, int64_t num_cells, const double *prices) {
    of->sums[0] = 0.0;
    for (int64_t k = 0; k < num_cells; k++) of->sums[k + 1] = of->sums[k] + prices[k] * (edges[k + 1] - edges[k]);
    of->sums[num_cells + 1] = of->sums[num_cells];
}

/* Write the share of each cell in which a job runs. */
static void share_cells(starts *of, const walked *w, double weight, int64_t num_cells, double *shares) {
    double *flow = of->flow;
    memset(flow, 0, (size_t)(num_cells + 2) * sizeof(double));
    for (int64_t k = 0; k < w->count; k++) add_flow(flow, of->starts + k, of->starts[k].value / weight);
    double left = flow[num_cells + 1];
    for (int64_t k = num_cells - 1; k >= 0; k--) {
        left += flow[k + 1];
        shares[k] = left;
    }
}

int64_t starts_share(
    starts *of, int64_t num_prices, const double *prices, double temperature, double cut, double *shares,
    double *totals, int64_t job, double seconds) {
    if (job < 0 || job > of->num_jobs) return FAULT(OUT_OF_RANGE, JOB_TO_SHARE);
    int64_t offset = 0, all = 0;
    for (int64_t j = 0; j < of->num_jobs; j++) {
        if (j < job) offset += of->high[j] - of->low[j];
        all += of->high[j] - of->low[j];
    }
    if (all != num_prices) return FAULT(OUT_OF_RANGE, NUM_PRICES);
    const double until = clock_now() + seconds, one = 1.0;
    int64_t looked_at = 0;
    for (; job < of->num_jobs; job++) {
        if (looked_at > STARTS) {
            if (clock_now() > until) break;
            looked_at = 0;
        }
        const int64_t num_cells = of->high[job] - of->low[job];
        const tariff t = {of->edges + of->low[job], of->sums, &one, num_cells, 1, num_cells + 2, false, cut};
        add_up_prices(of, t.edges, num_cells, prices + offset);
        walked w;
        const double weight = weigh(of, &t, job, temperature, &w);
        totals[0] += w.best;
        totals[1] += fabs(w.best) + of->sums[num_cells];
        share_cells(of, &w, weight, num_cells, shares + offset);
        offset += num_cells;
        looked_at += w.count + num_cells + 1;
    }
    return job;
}

static bool are_finite(const double *numbers, int64_t size) {
    for (int64_t i = 0; i < size; i++)
        if (!isfinite(numbers[i])) return false;
    return true;
}

/* Check what walking relies on: it ends, for releases, durations and edges are finite and edges grow. A floor may be
   infinite, where there is none. The columns of releases and durations are next to each other. */
static int64_t fault_of(const starts *s) {
    if (s->num_kinds < 0 || s->num_resources < 0) return FAULT(OUT_OF_RANGE, NUM_KINDS);
    if (s->num_cells < 1) return FAULT(OUT_OF_RANGE, NUM_CELLS);
    if (!are_firsts(s->first, s->num_jobs + 1, s->num_ways)) return FAULT(OUT_OF_ORDER, FIRST);
    for (int64_t j = 0; j < s->num_jobs; j++) {
        if (s->low[j] < 0 || s->low[j] > s->num_cells) return FAULT(OUT_OF_RANGE, LOW);
        if (s->high[j] < s->low[j] || s->high[j] > s->num_cells) return FAULT(OUT_OF_RANGE, HIGH);
    }
    if (!are_finite(s->release, 2 * s->num_ways)) return FAULT(NOT_A_NUMBER, COLUMNS);
    for (int64_t way = 0; way < s->num_ways; way++)
        if (isnan(s->floor[way]) || isnan(s->slope[way]) || isnan(s->least[way])) return FAULT(NOT_A_NUMBER, COLUMNS);
    for (int64_t way = 0; way < s->num_ways; way++)
        if (s->kind[way] < 0 || s->kind[way] >= s->num_kinds) return FAULT(OUT_OF_RANGE, KIND);
    if (!are_finite(s->needs, s->num_kinds * s->num_resources)) return FAULT(NOT_A_NUMBER, NEEDS);
    if (!are_finite(s->edges, s->num_cells + 1)) return FAULT(NOT_A_NUMBER, EDGES);
    for (int64_t k = 0; k < s->num_cells; k++)
        if (s->edges[k + 1] <= s->edges[k]) return FAULT(OUT_OF_ORDER, EDGES);
    return 0;
}

/* Return the cell of a point in time among those of a job, counted from its first. */
static int64_t cell_of(const starts *s, int64_t job, double at) {
    int64_t low = 0, high = s->num_cells + 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (s->edges[middle] <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return larger(0, smaller(low - 1 - s->low[job], s->high[job] - s->low[job]));
}

/* Make room for a copy of what was given, and for what is written. */
static void place_all(starts *s, int64_t most) {
    arena *in = &s->kept;
    KEEP(in, s->first, s->num_jobs + 1);
    KEEP(in, s->kind, s->num_ways);
    KEEP(in, s->low, s->num_jobs);
    KEEP(in, s->high, s->num_jobs);
    KEEP(in, s->release, s->num_ways);
    KEEP(in, s->duration, s->num_ways);
    KEEP(in, s->floor, s->num_ways);
    KEEP(in, s->slope, s->num_ways);
    KEEP(in, s->least, s->num_ways);
    KEEP(in, s->needs, s->num_kinds * s->num_resources);
    KEEP(in, s->edges, s->num_cells + 1);
    s->begin = PLACE(in, s->num_ways, int64_t);
    s->end = PLACE(in, s->num_ways, int64_t);
    s->sums = PLACE(in, s->num_cells + 2, double);
    s->flow = PLACE(in, s->num_cells + 2, double);
    s->starts = PLACE(in, most, seen);
}

int64_t starts_new(
    starts *made[1], int64_t num_jobs, int64_t num_ways, int64_t num_kinds, int64_t num_resources, int64_t num_cells,
    const int64_t *first, const double *columns, const int64_t *kind, const double *needs, const int64_t *low,
    const int64_t *high, const double *edges) {
    starts given = {.num_jobs = num_jobs, .num_ways = num_ways, .num_kinds = num_kinds,
                    .num_resources = num_resources, .num_cells = num_cells, .kept = {NULL, 0}};
    given.first = (int64_t *)first;
    given.kind = (int64_t *)kind;
    given.low = (int64_t *)low;
    given.high = (int64_t *)high;
    double **const of_ways[5] = {&given.release, &given.duration, &given.floor, &given.slope, &given.least};
    for (int64_t i = 0; i < 5; i++) *of_ways[i] = (double *)columns + i * num_ways;
    given.needs = (double *)needs;
    given.edges = (double *)edges;
    const int64_t fault = fault_of(&given);
    if (fault) return fault;
    int64_t most = 0, longest = 0;
    for (int64_t j = 0; j < num_jobs; j++) {
        most = larger(most, first[j + 1] - first[j]);
        longest = larger(longest, high[j] - low[j]);
    }
    if (2 * longest + 3 > INT64_MAX / 1024 / larger(most, 1)) return FAULT(TOO_LARGE, NUM_CELLS);
    most *= 2 * longest + 3;
    starts *s = malloc(sizeof(starts));
    if (!s) return FAULT(NO_MEMORY, 0);
    *s = given;
    place_all(s, most);
    if (!make_room(&s->kept)) {
        free(s);
        return FAULT(NO_MEMORY, 0);
    }
    place_all(s, most);
    for (int64_t j = 0; j < num_jobs; j++) {
        for (int64_t way = s->first[j]; way < s->first[j + 1]; way++) {
            s->begin[way] = cell_of(s, j, s->release[way]);
            s->end[way] = cell_of(s, j, s->release[way] + s->duration[way]);
        }
    }
    made[0] = s;
    return 0;
}

void starts_free(starts *of) {
    if (!of) return;
    free(of->kept.room);
    free(of);
}
