#include "costs.h"

/* Costs that are remembered, by key and start; the share of the machine below which nothing is worked on. */
enum { REMEMBERED = 1 << 16 };
static const double NO_ROOM = 1e-12;

typedef struct {
    int64_t key; /* plus 1: 0 is a free place */
    double start, cost;
} known_cost;

/* By key what `costs_new` is given. By kind the line below its costs. By row: values and ratios of slopes to them, by kind;
   what each key holds of the machine; `order`, the kinds that have a value, the largest ratio first, then the others, from
   `num_valued` on. The last row is for values that are only looked at. Rows are tried in a sequence, those with hits sooner. `works` has room for one of each kind. What `costs_price` is given, if
   anything, is in `priced`. */
struct costs {
    int64_t num_kinds, num_keys, num_rows, num_used;
    bool is_sum, has_failed;
    double seconds, tolerance, least, ceiling;
    cost_function cost;
    int64_t *kinds, *first, *first_key, *order, *num_valued, *hits, *sequence;
    double *ticks, *releases, *ends, *values, *slopes, *shortest, *steepest;
    double *line_slopes, *line_constants, *row_values, *ratios, *shares;
    work *works;
    known_cost *known;
    int64_t num_slots;
    double origin, *least_from, *paid_by, *brought_from;
    arena kept, priced;
};

/* Ask what a job of a key costs, and remember it. */
static double asked(costs *c, int64_t key, double start) {
    uint64_t bits;
    memcpy(&bits, &start, sizeof(bits));
    known_cost *place = c->known + ((bits ^ (uint64_t)key << 40) * UINT64_C(0x9E3779B97F4A7C15) >> 48) % REMEMBERED;
    if (place->key != key + 1 || place->start != start) {
        const double cost = c->cost(key, start);
        if (isnan(cost)) {
            c->has_failed = true;
            return -HUGE_VAL;
        }
        *place = (known_cost){key + 1, start, cost};
    }
    return place->cost;
}

/* Whether the points before one of so many, or from it on, are a step at an end, as near as the tolerance. */
static bool is_at_step(const costs *c, int64_t first, int64_t point, int64_t last, double end) {
    const double *ends = c->ends;
    const bool is_before = point - 2 >= first && ends[point - 2] == ends[point - 1] && end - ends[point - 1] <= c->tolerance;
    return is_before || (point + 1 < last && ends[point] == ends[point + 1] && ends[point] - end <= c->tolerance);
}

double cost_at(costs *of, int64_t key, double start) {
    const int64_t first = of->first[key], last = of->first[key + 1];
    const double end = (start + of->ticks[key]) * of->seconds, *ends = of->ends, *values = of->values;
    int64_t i = first;
    while (i < last && ends[i] < end) i++;
    if (first == last || is_at_step(of, first, i, last, end)) return asked(of, key, start);
    double cost = 0.0;
    if (i == first) cost = values[i];
    else if (i == last) cost = values[i - 1] + of->slopes[key] * (end - ends[i - 1]);
    else if (ends[i] == end) cost = values[i];
    else cost = values[i - 1] + (values[i] - values[i - 1]) * (end - ends[i - 1]) / (ends[i] - ends[i - 1]);
    return later(cost, of->least);
}

double cost_of_delay(const costs *of, const int64_t *waiting, double delay) {
    if (delay <= 0.0) return 0.0;
    double cost = 0.0;
    for (int64_t kind = 0; kind < of->num_kinds; kind++)
        if (waiting[kind]) cost += (double)waiting[kind] * of->steepest[kind];
    return cost * delay;
}

double spent_with(const costs *of, double spent, double cost) { return of->is_sum ? spent + cost : later(spent, cost); }

double cost_alone(costs *of, int64_t kind, double now) {
    const double start = later(now, of->releases[kind]);
    double least = HUGE_VAL;
    for (int64_t key = of->first_key[kind]; key < of->num_keys && of->kinds[key] == kind; key++)
        least = earlier(least, cost_at(of, key, start));
    return least;
}

/* Return what work costs at the least, which is used up; see `costs_of_works`. */
static double least_cost(work *works, int64_t num_works, double now, const held *holding, int64_t num_held) {
    double free = 1.0, cost = 0.0;
    for (int64_t i = 0; i < num_held; i++) free -= holding[i].share;
    for (int64_t i = 0, first = 0;;) {
        while (first < num_works && works[first].ticks <= 0.0) first++;
        if (first == num_works) return cost;
        double until = i < num_held ? holding[i].end : HUGE_VAL;
        int64_t chosen = first;
        for (; chosen < num_works && (works[chosen].ticks <= 0.0 || works[chosen].release > now); chosen++)
            if (works[chosen].ticks > 0.0) until = earlier(until, works[chosen].release);
        if (chosen < num_works && free > NO_ROOM) {
            work *on = works + chosen;
            const double done = free * (until - now);
            if (done >= on->ticks) {
                const double span = on->ticks / free;
                cost += on->ratio * on->ticks * (now + span / 2.0);
                now += span;
                on->ticks = 0.0;
                continue;
            }
            cost += on->ratio * done * (now + until) / 2.0;
            on->ticks -= done;
        }
        if (isinf(until)) return cost;
        now = later(now, until);
        for (; i < num_held && holding[i].end <= now; i++) free += holding[i].share;
    }
}

static void sort_by_end(held *holding, int64_t size) {
    for (int64_t i = 1; i < size; i++) {
        const held one = holding[i];
        int64_t k = i;
        for (; k > 0 && holding[k - 1].end > one.end; k--) holding[k] = holding[k - 1];
        holding[k] = one;
    }
}

/* Return what jobs that wait cost at least by their mean busy times, at a row of values. */
static double by_busy_times(
    costs *c, int64_t row, const int64_t *waiting, double now, held *holding, int64_t num_held) {
    const double *values = c->row_values + row * c->num_kinds, *ratios = c->ratios + row * c->num_kinds;
    const int64_t *order = c->order + row * c->num_kinds;
    double cost = 0.0;
    int64_t num_works = 0;
    for (int64_t i = 0; i < c->num_kinds; i++) {
        const int64_t kind = order[i];
        const double number = (double)waiting[kind], release = c->releases[kind];
        if (!waiting[kind]) continue;
        cost += number * c->line_constants[kind];
        if (i < c->num_valued[row]) c->works[num_works++] = (work){ratios[kind], number * values[kind], release};
        else cost += number * c->line_slopes[kind] * (later(now, release) + c->shortest[kind] / 2.0);
    }
    for (int64_t i = 0; i < num_held; i++)
        holding[i].share = holding[i].key < c->num_keys ? c->shares[row * c->num_keys + holding[i].key] : 0.0;
    return cost + least_cost(c->works, num_works, now, holding, num_held);
}

/* Return what follows costs at least at prices over time, if jobs that wait start at a time or later. */
static double by_prices(const costs *c, const int64_t *waiting, double now, const held *holding, int64_t num_held) {
    const int64_t size = c->num_slots + 1, last = c->num_slots;
    const int64_t from = (int64_t)earlier(later(floor(now - c->origin), 0.0), (double)last);
    const int64_t next = (int64_t)earlier(later(ceil(now - c->origin), 0.0), (double)last);
    double cost = -c->brought_from[from];
    for (int64_t kind = 0; kind < c->num_kinds; kind++)
        if (waiting[kind]) cost += (double)waiting[kind] * c->least_from[kind * size + from];
    for (int64_t i = 0; i < num_held; i++) {
        if (holding[i].key >= c->num_keys) continue;
        const int64_t end = (int64_t)earlier(later(floor(holding[i].end - c->origin), (double)next), (double)last);
        cost += c->paid_by[holding[i].key * size + end] - c->paid_by[holding[i].key * size + next];
    }
    return cost;
}

bool cost_too_much(
    costs *of, double spent, const int64_t *waiting, double now, held *holding, int64_t num_held) {
    double least = spent;
    for (int64_t kind = 0; kind < of->num_kinds; kind++) {
        if (!waiting[kind]) continue;
        const double alone = cost_alone(of, kind, now);
        least = spent_with(of, least, of->is_sum ? (double)waiting[kind] * alone : alone);
    }
    if (least > of->ceiling) return true;
    if (of->priced.room && spent + by_prices(of, waiting, now, holding, num_held) > of->ceiling) return true;
    if (of->num_used) sort_by_end(holding, num_held);
    for (int64_t i = 0; i < of->num_used; i++) {
        const int64_t row = of->sequence[i];
        if (spent + by_busy_times(of, row, waiting, now, holding, num_held) <= of->ceiling) continue;
        of->hits[row]++;
        of->sequence[i] = of->sequence[i / 2];
        of->sequence[i / 2] = row;
        return true;
    }
    return false;
}

bool is_of(const costs *of, int64_t num_kinds, int64_t num_keys) {
    return of->num_kinds == num_kinds && of->num_keys == num_keys;
}

bool is_sum(const costs *of) { return of->is_sum; }

bool has_failed(const costs *of) { return of->has_failed; }

bool is_affordable(const costs *of, double spent) { return spent <= of->ceiling; }

int64_t costs_limit(costs *of, double ceiling) {
    if (isnan(ceiling)) return FAULT(NOT_A_NUMBER, 1);
    of->ceiling = ceiling;
    return 0;
}

int64_t costs_draw(
    costs *of, int64_t num_kinds, const double slopes[num_kinds], const double constants[num_kinds]) {
    if (num_kinds != of->num_kinds) return FAULT(OUT_OF_RANGE, 1);
    for (int64_t kind = 0; kind < num_kinds; kind++)
        if (!(slopes[kind] >= 0.0)) return FAULT(OUT_OF_RANGE, 2);
    if (!are_numbers(constants, num_kinds)) return FAULT(NOT_A_NUMBER, 3);
    memcpy(of->line_slopes, slopes, (size_t)num_kinds * sizeof(double));
    memcpy(of->line_constants, constants, (size_t)num_kinds * sizeof(double));
    of->num_used = 0;
    return 0;
}

/* Write values into a row. */
static void write_row(costs *c, int64_t row, const double *values) {
    double *ratios = c->ratios + row * c->num_kinds;
    int64_t *order = c->order + row * c->num_kinds, number = 0;
    for (int64_t kind = 0; kind < c->num_kinds; kind++) {
        ratios[kind] = values[kind] > 0.0 ? c->line_slopes[kind] / values[kind] : -1.0;
        number += values[kind] > 0.0;
        int64_t k = kind;
        for (; k > 0 && ratios[kind] > ratios[order[k - 1]]; k--) order[k] = order[k - 1];
        order[k] = kind;
    }
    memcpy(c->row_values + row * c->num_kinds, values, (size_t)c->num_kinds * sizeof(double));
    for (int64_t key = 0; key < c->num_keys; key++)
        c->shares[row * c->num_keys + key] = values[c->kinds[key]] / c->ticks[key];
    c->num_valued[row] = number;
}

static bool are_values(const double *values, int64_t size) {
    for (int64_t i = 0; i < size; i++)
        if (!(values[i] >= 0.0) || isinf(values[i])) return false;
    return true;
}

int64_t costs_value(costs *of, int64_t num_kinds, int64_t row, const double values[num_kinds]) {
    if (num_kinds != of->num_kinds) return FAULT(OUT_OF_RANGE, 1);
    if (!of->is_sum || row < 0 || row > of->num_used || row >= of->num_rows) return FAULT(OUT_OF_RANGE, 2);
    if (!are_values(values, num_kinds)) return FAULT(OUT_OF_RANGE, 3);
    write_row(of, row, values);
    of->hits[row] = 0;
    if (row == of->num_used) of->sequence[of->num_used++] = row;
    return 0;
}

int64_t costs_price(
    costs *of, int64_t num_kinds, int64_t num_keys, int64_t num_points, double origin,
    const double *least, const double *paid, const double *brought) {
    if (num_kinds != of->num_kinds) return FAULT(OUT_OF_RANGE, 1);
    if (num_keys != of->num_keys) return FAULT(OUT_OF_RANGE, 2);
    if (num_points < 1 || !of->is_sum) return FAULT(OUT_OF_RANGE, 3);
    if (!isfinite(origin)) return FAULT(NOT_A_NUMBER, 4);
    if (!are_numbers(least, num_kinds * num_points)) return FAULT(NOT_A_NUMBER, 5);
    if (!are_values(paid, num_keys * num_points)) return FAULT(OUT_OF_RANGE, 6);
    if (!are_values(brought, num_points)) return FAULT(OUT_OF_RANGE, 7);
    arena in = {NULL, 0};
    for (int pass = 0; pass < 2; pass++) {
        double *const least_from = COPIED(&in, least, num_kinds * num_points);
        double *const paid_by = COPIED(&in, paid, num_keys * num_points);
        double *const brought_from = COPIED(&in, brought, num_points);
        if (!pass && !make_room(&in)) return FAULT(NO_MEMORY, 0);
        if (!pass) continue;
        of->least_from = least_from;
        of->paid_by = paid_by;
        of->brought_from = brought_from;
    }
    free(of->priced.room);
    of->priced = in;
    of->num_slots = num_points - 1;
    of->origin = origin;
    return 0;
}

int64_t costs_at_values(
    costs *of, int64_t num_kinds, int64_t num_held, double now, const double values[num_kinds],
    const int64_t waiting[num_kinds], const int64_t keys[num_held], const double ends[num_held], double cost[1]) {
    if (num_kinds != of->num_kinds) return FAULT(OUT_OF_RANGE, 1);
    if (!isfinite(now)) return FAULT(NOT_A_NUMBER, 3);
    if (!are_values(values, num_kinds)) return FAULT(OUT_OF_RANGE, 4);
    if (!are_within(waiting, num_kinds, 0, INT32_MAX)) return FAULT(OUT_OF_RANGE, 5);
    if (!are_within(keys, num_held, 0, INT64_MAX)) return FAULT(OUT_OF_RANGE, 6);
    if (!are_numbers(ends, num_held)) return FAULT(NOT_A_NUMBER, 7);
    held *holding = malloc((size_t)(num_held + 1) * sizeof(held));
    if (!holding) return FAULT(NO_MEMORY, 0);
    for (int64_t i = 0; i < num_held; i++) holding[i] = (held){ends[i], 0.0, keys[i]};
    sort_by_end(holding, num_held);
    write_row(of, of->num_rows, values);
    cost[0] = by_busy_times(of, of->num_rows, waiting, now, holding, num_held);
    free(holding);
    return 0;
}

int64_t costs_hits(costs *of, int64_t num_rows, int64_t hits[num_rows]) {
    if (num_rows != of->num_rows) return FAULT(OUT_OF_RANGE, 1);
    memcpy(hits, of->hits, (size_t)num_rows * sizeof(int64_t));
    return 0;
}

int64_t costs_of_works(
    int64_t num_works, int64_t num_held, double now, const double ratios[num_works], const double ticks[num_works],
    const double releases[num_works], const double ends[num_held], const double shares[num_held], double cost[1]) {
    if (!isfinite(now)) return FAULT(NOT_A_NUMBER, 2);
    if (!are_numbers(ratios, num_works)) return FAULT(NOT_A_NUMBER, 3);
    if (!are_numbers(ticks, num_works)) return FAULT(NOT_A_NUMBER, 4);
    if (!are_numbers(releases, num_works)) return FAULT(NOT_A_NUMBER, 5);
    if (!are_numbers(ends, num_held)) return FAULT(NOT_A_NUMBER, 6);
    if (!are_numbers(shares, num_held)) return FAULT(NOT_A_NUMBER, 7);
    work *works = calloc((size_t)num_works + 1, sizeof(work));
    held *holding = calloc((size_t)num_held + 1, sizeof(held));
    if (works && holding) {
        for (int64_t i = 0; i < num_works; i++) works[i] = (work){ratios[i], ticks[i], releases[i]};
        for (int64_t i = 0; i < num_held; i++) holding[i] = (held){ends[i], shares[i], 0};
        cost[0] = least_cost(works, num_works, now, holding, num_held);
    }
    const bool has_memory = works && holding;
    free(works);
    free(holding);
    return has_memory ? 0 : FAULT(NO_MEMORY, 0);
}

/* Return the fault in what costs are made of, or 0. */
static int64_t fault_of(
    const costs *c, int64_t num_points, const int64_t *kinds, const double *ticks, const double *releases,
    const int64_t *first, const double *ends, const double *values, const double *slopes) {
    if (c->num_kinds < 1 || c->num_kinds > INT32_MAX) return FAULT(OUT_OF_RANGE, 1);
    if (c->num_keys < 0 || c->num_keys > INT32_MAX) return FAULT(OUT_OF_RANGE, 2);
    if (c->num_rows < 1 || c->num_rows > INT32_MAX) return FAULT(OUT_OF_RANGE, 4);
    if (!isfinite(c->seconds) || c->seconds <= 0.0) return FAULT(OUT_OF_RANGE, 6);
    if (isnan(c->tolerance)) return FAULT(NOT_A_NUMBER, 7);
    if (isnan(c->least)) return FAULT(NOT_A_NUMBER, 8);
    if (!c->cost) return FAULT(OUT_OF_RANGE, 9);
    if (!are_within(kinds, c->num_keys, 0, c->num_kinds - 1)) return FAULT(OUT_OF_RANGE, 10);
    for (int64_t key = 0; key < c->num_keys; key++)
        if (!(ticks[key] > 0.0)) return FAULT(OUT_OF_RANGE, 11);
    if (!are_numbers(releases, c->num_kinds)) return FAULT(NOT_A_NUMBER, 12);
    if (first[0] != 0 || first[c->num_keys] != num_points) return FAULT(OUT_OF_RANGE, 13);
    for (int64_t key = 0; key < c->num_keys; key++)
        if (first[key + 1] < first[key]) return FAULT(OUT_OF_ORDER, 13);
    if (!are_numbers(ends, num_points)) return FAULT(NOT_A_NUMBER, 14);
    if (!are_numbers(values, num_points)) return FAULT(NOT_A_NUMBER, 15);
    if (!are_numbers(slopes, c->num_keys)) return FAULT(NOT_A_NUMBER, 16);
    return 0;
}

static void place_all(
    costs *c, int64_t num_points, const int64_t *kinds, const double *ticks, const double *releases,
    const int64_t *first, const double *ends, const double *values, const double *slopes) {
    arena *kept = &c->kept;
    c->kinds = COPIED(kept, kinds, c->num_keys);
    c->ticks = COPIED(kept, ticks, c->num_keys);
    c->releases = COPIED(kept, releases, c->num_kinds);
    c->first = COPIED(kept, first, c->num_keys + 1);
    c->ends = COPIED(kept, ends, num_points);
    c->values = COPIED(kept, values, num_points);
    c->slopes = COPIED(kept, slopes, c->num_keys);
    c->first_key = PLACE(kept, c->num_kinds, int64_t);
    c->order = PLACE(kept, (c->num_rows + 1) * c->num_kinds, int64_t);
    c->num_valued = PLACE(kept, c->num_rows + 1, int64_t);
    c->hits = PLACE(kept, c->num_rows, int64_t);
    c->sequence = PLACE(kept, c->num_rows, int64_t);
    c->row_values = PLACE(kept, (c->num_rows + 1) * c->num_kinds, double);
    c->ratios = PLACE(kept, (c->num_rows + 1) * c->num_kinds, double);
    c->shares = PLACE(kept, (c->num_rows + 1) * c->num_keys, double);
    c->shortest = PLACE(kept, c->num_kinds, double);
    c->steepest = PLACE(kept, c->num_kinds, double);
    c->line_slopes = PLACE(kept, c->num_kinds, double);
    c->line_constants = PLACE(kept, c->num_kinds, double);
    c->works = PLACE(kept, c->num_kinds, work);
    c->known = PLACE(kept, REMEMBERED, known_cost);
}

/* Note the most that a job of each kind costs more for a tick later: infinity where there are steps, or no points. */
static void note_steepest(costs *c) {
    for (int64_t key = 0; key < c->num_keys; key++) {
        double *most = c->steepest + c->kinds[key];
        *most = later(*most, c->first[key] == c->first[key + 1] || !c->is_sum ? HUGE_VAL : c->slopes[key] * c->seconds);
        for (int64_t i = c->first[key] + 1; i < c->first[key + 1]; i++) {
            const double rise = c->values[i] - c->values[i - 1], span = c->ends[i] - c->ends[i - 1];
            if (rise > 0.0) *most = later(*most, span > 0.0 ? rise / span * c->seconds : HUGE_VAL);
        }
    }
}

int64_t costs_new(
    costs *made[1],
    int64_t num_kinds, int64_t num_keys, int64_t num_points, int64_t num_rows, int64_t is_sum, double seconds, double tolerance,
    double least, cost_function cost,
    const int64_t kinds[num_keys], const double ticks[num_keys], const double releases[num_kinds],
    const int64_t first[num_keys + 1], const double ends[num_points], const double values[num_points],
    const double slopes[num_keys]) {
    costs given = {.num_kinds = num_kinds, .num_keys = num_keys, .num_rows = num_rows, .is_sum = is_sum != 0, .seconds = seconds,
                   .tolerance = tolerance, .least = least, .ceiling = HUGE_VAL, .cost = cost};
    const int64_t fault = fault_of(&given, num_points, kinds, ticks, releases, first, ends, values, slopes);
    if (fault) return fault;
    costs *c = malloc(sizeof(costs));
    if (!c) return FAULT(NO_MEMORY, 0);
    *c = given;
    place_all(c, num_points, kinds, ticks, releases, first, ends, values, slopes);
    if (!make_room(&c->kept)) {
        free(c);
        return FAULT(NO_MEMORY, 0);
    }
    place_all(c, num_points, kinds, ticks, releases, first, ends, values, slopes);
    for (int64_t kind = 0; kind < num_kinds; kind++) c->first_key[kind] = num_keys;
    for (int64_t key = num_keys - 1; key >= 0; key--) c->first_key[kinds[key]] = key;
    for (int64_t kind = 0; kind < num_kinds; kind++) {
        c->shortest[kind] = HUGE_VAL;
        for (int64_t key = c->first_key[kind]; key < num_keys && kinds[key] == kind; key++)
            c->shortest[kind] = earlier(c->shortest[kind], ticks[key]);
    }
    for (int64_t key = 1; key < num_keys; key++) {
        if (kinds[key] == kinds[key - 1] || c->first_key[kinds[key]] == key) continue;
        costs_free(c);
        return FAULT(OUT_OF_ORDER, 10);
    }
    note_steepest(c);
    made[0] = c;
    return 0;
}

void costs_free(costs *of) {
    if (!of) return;
    free(of->kept.room);
    free(of->priced.room);
    free(of);
}
