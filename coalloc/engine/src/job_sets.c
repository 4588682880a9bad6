#include "job_sets.h"

/* Numbers of parameters, for faults. */
enum { CELLS = 3, ENTRIES, TASKS, CAPACITIES };
enum { NUM_PLACES = 1, NUM_CELLS = 2, CELL = 6 };

/* The largest capacity, and sums of a knapsack between two looks at the clock. */
enum { MOST_CAPACITY = 1 << 30, SUMS = 1 << 20 };

struct job_sets {
    int64_t num_cells, num_places, room;
    int64_t *cells, *entries, *tasks, *capacities, *listed;
    double *best;
    uint8_t *is_taken;
    arena kept;
};

/* List the jobs of a cell that are worth something and fit; return what they take. */
static int64_t list(const job_sets *s, int64_t cell, const double *prices, double *chosen, int64_t *count) {
    int64_t demand = 0;
    *count = 0;
    for (int64_t i = s->cells[cell]; i < s->cells[cell + 1]; i++) {
        const int64_t place = s->entries[i];
        chosen[place] = 0.0;
        if (!(prices[place] > 0.0 && s->tasks[place] <= s->capacities[cell])) continue;
        s->listed[(*count)++] = place;
        demand += s->tasks[place];
    }
    return demand;
}

/* Choose of the listed jobs those that bring most within a capacity; return what they bring. */
static double pack(const job_sets *s, int64_t capacity, int64_t count, const double *prices, double *chosen) {
    for (int64_t c = 0; c <= capacity; c++) s->best[c] = 0.0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t need = s->tasks[s->listed[i]];
        const double price = prices[s->listed[i]];
        uint8_t *is_taken = s->is_taken + i * s->room;
        memset(is_taken, 0, (size_t)smaller(need, s->room));
        for (int64_t c = capacity; c >= need; c--) {
            is_taken[c] = s->best[c - need] + price > s->best[c];
            if (is_taken[c]) s->best[c] = s->best[c - need] + price;
        }
    }
    int64_t left = capacity;
    for (int64_t i = count - 1; i >= 0; i--) {
        if (!s->is_taken[i * s->room + left]) continue;
        chosen[s->listed[i]] = 1.0;
        left -= s->tasks[s->listed[i]];
    }
    return s->best[capacity];
}

int64_t job_sets_choose(
    job_sets *of, int64_t num_places, int64_t num_cells, const double *prices, double *chosen, double *values,
    int64_t cell, double seconds) {
    if (num_places != of->num_places) return FAULT(OUT_OF_RANGE, NUM_PLACES);
    if (num_cells != of->num_cells) return FAULT(OUT_OF_RANGE, NUM_CELLS);
    if (cell < 0) return FAULT(OUT_OF_RANGE, CELL);
    const double until = clock_now() + seconds;
    int64_t looked_at = 0;
    for (; cell < num_cells; cell++) {
        if (looked_at > SUMS) {
            if (clock_now() > until) break;
            looked_at = 0;
        }
        int64_t count;
        const int64_t demand = list(of, cell, prices, chosen, &count);
        looked_at += of->cells[cell + 1] - of->cells[cell] + 1;
        if (demand > of->capacities[cell]) {
            values[cell] = pack(of, of->capacities[cell], count, prices, chosen);
            looked_at += count * of->capacities[cell];
            continue;
        }
        values[cell] = 0.0;
        for (int64_t i = 0; i < count; i++) {
            values[cell] += prices[of->listed[i]];
            chosen[of->listed[i]] = 1.0;
        }
    }
    return cell;
}

static int64_t fault_of(
    int64_t num_cells, int64_t num_places, const int64_t *cells, const int64_t *entries, const int64_t *tasks,
    const int64_t *capacities) {
    if (!are_firsts(cells, num_cells + 1, num_places)) return FAULT(OUT_OF_ORDER, CELLS);
    if (!are_within(capacities, num_cells, 0, MOST_CAPACITY)) return FAULT(OUT_OF_RANGE, CAPACITIES);
    for (int64_t i = 0; i < num_places; i++) {
        if (entries[i] < 0 || entries[i] >= num_places) return FAULT(OUT_OF_RANGE, ENTRIES);
        if (tasks[i] < 0) return FAULT(OUT_OF_RANGE, TASKS);
    }
    return 0;
}

int64_t job_sets_new(
    job_sets *made[1], int64_t num_cells, int64_t num_places, const int64_t *cells, const int64_t *entries,
    const int64_t *tasks, const int64_t *capacities) {
    const int64_t fault = fault_of(num_cells, num_places, cells, entries, tasks, capacities);
    if (fault) return fault;
    int64_t most = 0, room = 0;
    for (int64_t k = 0; k < num_cells; k++) {
        most = larger(most, cells[k + 1] - cells[k]);
        room = larger(room, capacities[k] + 1);
    }
    job_sets *s = malloc(sizeof(job_sets));
    if (!s) return FAULT(NO_MEMORY, 0);
    *s = (job_sets){.num_cells = num_cells, .num_places = num_places, .room = room, .kept = {NULL, 0}};
    for (int pass = 0; pass < 2; pass++) {
        arena *in = &s->kept;
        s->cells = COPIED(in, cells, num_cells + 1);
        s->entries = COPIED(in, entries, num_places);
        s->tasks = COPIED(in, tasks, num_places);
        s->capacities = COPIED(in, capacities, num_cells);
        s->listed = PLACE(in, most, int64_t);
        s->best = PLACE(in, room, double);
        s->is_taken = PLACE(in, most * room, uint8_t);
        if (pass) break;
        if (!make_room(in)) {
            free(s);
            return FAULT(NO_MEMORY, 0);
        }
    }
    made[0] = s;
    return 0;
}

void job_sets_free(job_sets *of) {
    if (!of) return;
    free(of->kept.room);
    free(of);
}
