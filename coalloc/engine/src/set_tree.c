/* Making a tree: what it is given is verified, and written down. */

#include "set_tree_state.h"

/* Times of a kind: arrival, latest start and end, least ticks, and those until all that waits for it has ended. */
enum { NUM_TIMES = 5 };
/* Levels that calendars may add. */
enum { MOST_LEVELS = 4096 };

/* Whether a kind is behind a lag that lasts. */
static bool is_delayed(const int64_t *lag_first, const double *lag_least, int64_t kind) {
    for (int64_t l = lag_first[kind]; l < lag_first[kind + 1]; l++)
        if (lag_least[l] > 0.0) return true;
    return false;
}

/* Return the fault in keys, kinds, and what runs from the beginning and later, or 0; what runs from the beginning fits. */
static int64_t fault_of(
    const set_tree *t, double release, const int64_t *kinds, const double *ticks, const int64_t *counts,
    const double *times, const int64_t *busy_keys, const double *busy_ends, const double *begins,
    const double *block_ends) {
    if (t->num_kinds < 1 || t->num_kinds > 64) return FAULT(OUT_OF_RANGE, 2);
    if (t->num_keys != t->sets->num_job_keys) return FAULT(OUT_OF_RANGE, 3);
    if (t->num_busy < 0 || t->num_busy > t->sets->num_keys) return FAULT(OUT_OF_RANGE, 4);
    if (t->num_blocks < 0 || t->num_blocks > smaller(UINT16_MAX, t->sets->num_keys - t->num_keys))
        return FAULT(OUT_OF_RANGE, 5);
    if (t->mirrored < -1 || t->mirrored >= t->num_kinds) return FAULT(OUT_OF_RANGE, 8);
    if (t->first_price < 0 || t->first_price >= t->sets->num_prices) return FAULT(OUT_OF_RANGE, 9);
    if (isnan(release)) return FAULT(NOT_A_NUMBER, 11);
    for (int64_t key = 0; key < t->num_keys; key++) {
        if (kinds[key] < 0 || kinds[key] >= t->num_kinds) return FAULT(OUT_OF_RANGE, 13);
        if (!(ticks[key] > 0.0)) return FAULT(OUT_OF_RANGE, 14);
    }
    for (int64_t kind = 0, bits = 0; kind < t->num_kinds; kind++) {
        if (counts[kind] < 1 || counts[kind] > 64) return FAULT(OUT_OF_RANGE, 15);
        for (int64_t number = counts[kind]; number; number /= 2) bits++;
        if (bits > 64) return FAULT(TOO_LARGE, 15);
    }
    if (!are_numbers(times, t->num_kinds * NUM_TIMES)) return FAULT(NOT_A_NUMBER, 16);
    for (int64_t b = 0; b < t->num_busy; b++) {
        if (busy_keys[b] < t->num_keys || busy_keys[b] >= t->sets->num_keys - t->num_blocks)
            return FAULT(OUT_OF_RANGE, 17);
        if (isnan(busy_ends[b])) return FAULT(NOT_A_NUMBER, 18);
    }
    for (int64_t b = 0; b < t->num_blocks; b++) {
        if (!(begins[b] >= (b ? begins[b - 1] : -HUGE_VAL))) return FAULT(OUT_OF_ORDER, 19);
        if (!(block_ends[b] > begins[b])) return FAULT(OUT_OF_RANGE, 20);
    }
    return 0;
}

/* Return the fault in what keeps kinds from starting, or 0. */
static int64_t fault_of_waits(
    const set_tree *t, const int64_t *counts, const int64_t *lag_first, const int64_t *lag_of, const int64_t *lag_ends,
    const double *lag_least, const uint64_t *apart, const int64_t *span_first, const double *opens,
    const double *closes) {
    if (t->num_lags < 0 || t->num_lags > INT32_MAX) return FAULT(OUT_OF_RANGE, 6);
    if (t->num_spans < 0 || t->num_spans > INT32_MAX) return FAULT(OUT_OF_RANGE, 7);
    if (!(t->early >= 0.0)) return FAULT(OUT_OF_RANGE, 12);
    if (lag_first[0] != 0 || lag_first[t->num_kinds] != t->num_lags) return FAULT(OUT_OF_RANGE, 21);
    if (span_first[0] != 0 || span_first[t->num_kinds] != t->num_spans) return FAULT(OUT_OF_RANGE, 26);
    for (int64_t kind = 0; kind < t->num_kinds; kind++) {
        if (lag_first[kind + 1] < lag_first[kind]) return FAULT(OUT_OF_ORDER, 21);
        if (span_first[kind + 1] < span_first[kind]) return FAULT(OUT_OF_ORDER, 26);
    }
    for (int64_t kind = 0; kind < t->num_kinds; kind++) {
        if (apart[kind] && counts[kind] > 1) return FAULT(OUT_OF_RANGE, 25);
        for (int64_t c = span_first[kind]; c < span_first[kind + 1]; c++) {
            if (!(opens[c] > (c > span_first[kind] ? closes[c - 1] : -HUGE_VAL))) return FAULT(OUT_OF_ORDER, 27);
            if (!(closes[c] >= opens[c])) return FAULT(OUT_OF_ORDER, 28);
        }
    }
    for (int64_t l = 0; l < t->num_lags; l++) {
        if (lag_of[l] < 0 || lag_of[l] >= t->num_kinds || counts[lag_of[l]] > 1) return FAULT(OUT_OF_RANGE, 22);
        if (lag_ends[l] < 0 || lag_ends[l] > 1) return FAULT(OUT_OF_RANGE, 23);
        if (!(lag_least[l] >= 0.0)) return FAULT(OUT_OF_RANGE, 24);
    }
    return 0;
}

/* Return the fault in rows, or 0. */
static int64_t fault_of_rows(
    const set_tree *t, const int64_t *counts, const int64_t *row_late, const int64_t *row_early,
    const int64_t *row_ends, const double *row_least, const int64_t *offset_first, const double *offsets) {
    if (t->num_rows < 0 || t->num_rows > INT16_MAX) return FAULT(OUT_OF_RANGE, 29);
    if (t->num_offsets < 0 || t->num_offsets > INT16_MAX) return FAULT(OUT_OF_RANGE, 30);
    if (!are_within(row_late, t->num_rows, 0, t->num_kinds - 1)) return FAULT(OUT_OF_RANGE, 31);
    if (!are_within(row_early, t->num_rows, 0, t->num_kinds - 1)) return FAULT(OUT_OF_RANGE, 32);
    if (!are_within(row_ends, t->num_rows, 0, 3)) return FAULT(OUT_OF_RANGE, 33);
    if (!are_numbers(row_least, t->num_rows)) return FAULT(NOT_A_NUMBER, 34);
    if (!are_firsts(offset_first, t->num_kinds + 1, t->num_offsets)) return FAULT(OUT_OF_ORDER, 35);
    if (!are_numbers(offsets, t->num_offsets)) return FAULT(NOT_A_NUMBER, 36);
    for (int64_t r = 0; r < t->num_rows; r++) {
        if (counts[row_late[r]] > 1) return FAULT(OUT_OF_RANGE, 31);
        if (counts[row_early[r]] > 1) return FAULT(OUT_OF_RANGE, 32);
    }
    return 0;
}

static void place_all(set_tree *t) {
    arena *kept = &t->kept;
    const int64_t levels = t->num_levels;
    t->kinds = PLACE(kept, t->num_kinds, kind_of_jobs);
    t->kind_of = PLACE(kept, t->num_keys, int64_t);
    t->ticks = PLACE(kept, t->num_keys, double);
    t->begins = PLACE(kept, t->num_blocks, double);
    t->block_ends = PLACE(kept, t->num_blocks, double);
    t->lag_first = PLACE(kept, t->num_kinds + 1, int64_t);
    t->lags = PLACE(kept, t->num_lags, time_lag);
    t->delayed = PLACE(kept, t->num_kinds, int64_t);
    t->span_first = PLACE(kept, t->num_kinds + 1, int64_t);
    t->opens = PLACE(kept, t->num_spans, double);
    t->closes = PLACE(kept, t->num_spans, double);
    t->rows = PLACE(kept, t->num_rows, time_row);
    t->offset_first = PLACE(kept, t->num_kinds + 1, int64_t);
    t->offsets = PLACE(kept, t->num_offsets, double);
    t->nodes = PLACE(kept, levels, set_node);
    t->sets_of = PLACE(kept, levels * (t->num_jobs + 1), int64_t);
    t->candidates = PLACE(kept, levels * t->num_keys, int64_t);
    t->started = PLACE(kept, levels * t->num_jobs, int64_t);
    t->given = PLACE(kept, levels * t->num_jobs, uint8_t);
    t->firsts = PLACE(kept, levels * (t->num_jobs + 1), double);
    t->losses = PLACE(kept, levels * t->sets->num_prices, double);
    t->rooms = PLACE(kept, levels * t->num_keys, double);
    t->spent = PLACE(kept, levels * (t->num_jobs + 1), double);
    t->holding = PLACE(kept, t->num_members, held);
    t->counts = PLACE(kept, t->num_kinds, int64_t);
    t->members = PLACE(kept, levels * t->num_members, member);
    t->lasting = PLACE(kept, t->num_members, member);
}

/* Write down kinds and keys; who waits at the first level follows from them. */
static void write_kinds(
    set_tree *t, const int64_t *kinds, const double *ticks, const int64_t *counts, const double *times,
    const uint64_t *apart) {
    memcpy(t->kind_of, kinds, (size_t)t->num_keys * sizeof(int64_t));
    memcpy(t->ticks, ticks, (size_t)t->num_keys * sizeof(double));
    t->last_release = -HUGE_VAL;
    for (int64_t kind = 0, shift = 0; kind < t->num_kinds; kind++) {
        const double *of = times + kind * NUM_TIMES;
        int64_t width = 0;
        while (counts[kind] >> width) width++;
        const uint64_t mask = (UINT64_C(1) << width) - 1;
        t->kinds[kind] = (kind_of_jobs){.shift = shift, .mask = mask, .apart = apart[kind], .release = of[0],
                                        .latest_start = of[1], .latest_end = of[2], .shortest = of[3], .tail = of[4]};
        t->has_apart |= apart[kind] != 0;
        t->last_release = later(t->last_release, of[0]);
        t->nodes[0].waiting |= (uint64_t)counts[kind] << shift;
        shift += width;
    }
}

/* Write down what keeps kinds from starting. */
static void write_waits(
    set_tree *t, const int64_t *lag_first, const int64_t *lag_of, const int64_t *lag_ends, const double *lag_least,
    const int64_t *span_first, const double *opens, const double *closes) {
    memcpy(t->lag_first, lag_first, (size_t)(t->num_kinds + 1) * sizeof(int64_t));
    memcpy(t->span_first, span_first, (size_t)(t->num_kinds + 1) * sizeof(int64_t));
    if (t->num_spans) memcpy(t->opens, opens, (size_t)t->num_spans * sizeof(double));
    if (t->num_spans) memcpy(t->closes, closes, (size_t)t->num_spans * sizeof(double));
    for (int64_t l = 0; l < t->num_lags; l++) t->lags[l] = (time_lag){lag_of[l], lag_ends[l] == 1, lag_least[l]};
    for (int64_t kind = 0, number = 0; kind < t->num_kinds; kind++)
        if (is_delayed(lag_first, lag_least, kind)) t->delayed[number++] = kind;
    t->has_waits = t->num_lags || t->num_spans || t->has_apart || t->num_rows;
}

/* Write down rows, and the offsets of the kinds that they may put off. */
static void write_rows(
    set_tree *t, const int64_t *row_late, const int64_t *row_early, const int64_t *row_ends, const double *row_least,
    const int64_t *offset_first, const double *offsets) {
    memcpy(t->offset_first, offset_first, (size_t)(t->num_kinds + 1) * sizeof(int64_t));
    if (t->num_offsets) memcpy(t->offsets, offsets, (size_t)t->num_offsets * sizeof(double));
    for (int64_t r = 0; r < t->num_rows; r++) {
        t->rows[r] = (time_row){row_late[r], row_early[r], row_ends[r] & 1, row_ends[r] >> 1 & 1, row_least[r]};
        t->floating |= UINT64_C(1) << row_late[r];
    }
}

/* Let what runs from the beginning, and blocks that have begun, run at the first level; return its set, or why that cannot
   be made. */
static int64_t write_busy(set_tree *t, const int64_t *busy_keys, const double *busy_ends) {
    set_node *n = t->nodes;
    n->begun = begun_by(t, 0, n->now);
    for (int64_t b = 0; b < t->num_busy; b++) t->members[n->num_members++] = (member){busy_keys[b], busy_ends[b]};
    for (int64_t b = 0; b < n->begun; b++)
        if (t->block_ends[b] > n->now)
            t->members[n->num_members++] = (member){t->first_block + b, t->block_ends[b]};
    int64_t running = 0;
    for (int64_t i = 0; i < n->num_members && running >= 0; i++)
        running = running_sets_join(t->sets, running, t->members[i].key);
    t->sets_of[0] = running;
    return running;
}

/* Write down how many there are of what a tree has room for. */
static void write_sizes(set_tree *t, const int64_t *counts, const int64_t *lag_first, const double *lag_least) {
    for (int64_t kind = 0; kind < t->num_kinds; kind++) {
        t->num_jobs += counts[kind];
        t->num_delayed += is_delayed(lag_first, lag_least, kind);
    }
    t->first_block = t->sets->num_keys - t->num_blocks;
    t->num_members = t->num_jobs + t->num_busy + t->num_blocks;
    /* At each level but the first something ends, arrives or begins, a lag is over, a calendar lets a job start, or rows do. */
    t->num_levels = t->num_members + t->num_kinds + t->num_blocks + t->num_lags + smaller(t->num_spans, MOST_LEVELS) + 2;
    t->num_levels += smaller(t->num_offsets * (t->num_members + t->num_blocks + t->num_kinds), MOST_LEVELS);
}

/* Return a tree with room for what is given, and so many bytes for nodes; NULL without memory. */
static set_tree *placed(const set_tree *given, int64_t memory) {
    set_tree *t = malloc(sizeof(set_tree));
    if (!t) return NULL;
    *t = *given;
    t->memory = memory_of(memory, t->num_delayed + t->num_rows);
    place_all(t);
    if (!t->memory || !make_room(&t->kept)) {
        set_tree_free(t);
        return NULL;
    }
    place_all(t);
    return t;
}

int64_t set_tree_new(
    set_tree *made[1], running_sets *sets,
    int64_t num_kinds, int64_t num_job_keys, int64_t num_busy, int64_t num_blocks, int64_t num_lags, int64_t num_spans,
    int64_t mirrored, int64_t first_price, int64_t memory, double release, double early,
    const int64_t kinds[num_job_keys], const double ticks[num_job_keys], const int64_t counts[num_kinds],
    const double times[num_kinds * 5],
    const int64_t busy_keys[num_busy], const double busy_ends[num_busy],
    const double begins[num_blocks], const double block_ends[num_blocks],
    const int64_t lag_first[num_kinds + 1], const int64_t lag_of[num_lags], const int64_t lag_ends[num_lags],
    const double lag_least[num_lags], const uint64_t apart[num_kinds],
    const int64_t span_first[num_kinds + 1], const double opens[num_spans], const double closes[num_spans],
    int64_t num_rows, int64_t num_offsets, const int64_t row_late[num_rows], const int64_t row_early[num_rows],
    const int64_t row_ends[num_rows], const double row_least[num_rows], const int64_t offset_first[num_kinds + 1],
    const double offsets[num_offsets]) {
    set_tree given = {.sets = sets, .num_kinds = num_kinds, .num_keys = num_job_keys, .num_busy = num_busy,
                      .num_blocks = num_blocks, .num_lags = num_lags, .num_spans = num_spans, .num_rows = num_rows, .num_offsets = num_offsets, .mirrored = mirrored,
                      .first_price = first_price, .early = early, .is_forward = true};
    if (memory < 1 || memory > INT64_MAX / 4) return FAULT(OUT_OF_RANGE, 10);
    int64_t fault = fault_of(
        &given, release, kinds, ticks, counts, times, busy_keys, busy_ends, begins, block_ends);
    if (!fault)
        fault = fault_of_waits(
            &given, counts, lag_first, lag_of, lag_ends, lag_least, apart, span_first, opens, closes);
    if (!fault) fault = fault_of_rows(&given, counts, row_late, row_early, row_ends, row_least, offset_first, offsets);
    if (fault) return fault;
    write_sizes(&given, counts, lag_first, lag_least);
    set_tree *t = placed(&given, memory);
    if (!t) return FAULT(NO_MEMORY, 0);
    write_kinds(t, kinds, ticks, counts, times, apart);
    write_waits(t, lag_first, lag_of, lag_ends, lag_least, span_first, opens, closes);
    write_rows(t, row_late, row_early, row_ends, row_least, offset_first, offsets);
    if (num_blocks) memcpy(t->begins, begins, (size_t)num_blocks * sizeof(double));
    if (num_blocks) memcpy(t->block_ends, block_ends, (size_t)num_blocks * sizeof(double));
    t->nodes[0].now = release;
    for (int64_t key = 0; key < num_job_keys; key++) t->rooms[key] = HUGE_VAL;
    const int64_t running = write_busy(t, busy_keys, busy_ends);
    if (running >= 0) {
        made[0] = t;
        return 0;
    }
    set_tree_free(t);
    return running == OUT_OF_MEMORY ? FAULT(NO_MEMORY, 0) : FAULT(TOO_LARGE, 17);
}

int64_t set_tree_count(set_tree *of, costs *costs, int64_t may_delay) {
    if (!is_of(costs, of->num_kinds, of->num_keys)) return FAULT(OUT_OF_RANGE, 1);
    of->costs = costs;
    of->may_delay = may_delay != 0;
    of->spent[0] = is_sum(costs) ? 0.0 : -HUGE_VAL;
    return 0;
}

void set_tree_free(set_tree *of) {
    if (!of) return;
    leave_memory(of->memory);
    free(of->kept.room);
    free(of);
}
