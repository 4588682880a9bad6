#include "wide_jobs.h"

/* Numbers of parameters of wide_jobs_are_held, for faults. */
enum { NUM_CLUSTERS, TASKS, ASKED, CAPACITIES, ROOMS, LIMITS, LOADS, OF_OTHER };

/* Clusters, and tasks of one job times those of the other, up to which there is memory. */
enum { MOST_CLUSTERS = 1 << 10, MOST_PAIRS = 1 << 26 };

/* How many tasks of the other job a cluster holds beside some of the first: few, or many. A least above a most where
   there are none. */
typedef struct {
    int64_t least[2], most[2];
} span;

/* Numbers from a least to a most one. */
typedef struct {
    int32_t least, most;
} stretch;

/* How many tasks of the other job some clusters hold beside some of the first: stretches apart from each other. */
typedef struct {
    int64_t count;
    stretch *stretches;
} row;

typedef struct {
    int64_t num_clusters, tasks, asked;
    const int64_t *capacities, *rooms;
    const double *limits, *loads, *of_other;
    span *spans;         /* by cluster and tasks of the first job */
    row *before, *after; /* by tasks of the first job on the clusters before, and with one more of these */
    int64_t *marks;      /* by tasks of the other job how many stretches begin there, less those that end before */
} question;

static span *at(const question *q, int64_t c, int64_t x) { return q->spans + c * (q->tasks + 1) + x; }

/* Return the first number from low to high at which both loads exceed (or no longer exceed) a limit. */
static int64_t first_beyond(const question *q, int64_t c, int64_t x, int64_t low, int64_t high, bool is_growing) {
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if ((q->loads[x] + q->of_other[middle] <= q->limits[c]) == is_growing)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Find what a cluster holds of the other job beside so many tasks of the first. */
static span span_of(const question *q, int64_t c, int64_t x) {
    span found = {{0, 0}, {-1, -1}};
    const int64_t half = q->asked / 2;
    const int64_t most = smaller(smaller(q->asked, q->rooms[2 * c + 1]), q->capacities[c] - x);
    if (x > q->rooms[2 * c] || most < 0 || q->loads[x] > q->limits[c]) return found;
    const int64_t few = first_beyond(q, c, x, 0, half + 1, true);
    if (few == half + 1) { /* half of them fit, so any number does */
        found.most[0] = most;
        return found;
    }
    found.most[0] = smaller(few - 1, most);
    found.least[1] = first_beyond(q, c, x, half + 1, q->asked, false); /* 0 MB/s at the end */
    found.most[1] = most;
    return found;
}

/* Return whether the clusters before, x tasks of the first job on them, and the last two, y and z tasks of it on them,
   hold the other: sums of stretches are stretches. */
static bool add_up(const question *q, const row *on_x, const span *on_y, const span *on_z) {
    for (int k = 0; k < 2; k++) {
        for (int m = 0; m < 2 && on_y->least[k] <= on_y->most[k]; m++) {
            const int64_t least = q->asked - on_y->most[k] - on_z->most[m];
            const int64_t most = q->asked - on_y->least[k] - on_z->least[m];
            for (int64_t i = 0; i < on_x->count && on_z->least[m] <= on_z->most[m]; i++)
                if (on_x->stretches[i].least <= most && least <= on_x->stretches[i].most) return true;
        }
    }
    return false;
}

/* Write what the first cluster holds beside x tasks of the first job. */
static void begin_row(const question *q, int64_t x, row *made) {
    const span *on = at(q, 0, x);
    made->count = 0;
    for (int k = 0; k < 2; k++)
        if (on->least[k] <= on->most[k])
            made->stretches[made->count++] = (stretch){(int32_t)on->least[k], (int32_t)on->most[k]};
}

/* Write what the clusters up to one hold beside x tasks of the first job. */
static void write_row(const question *q, int64_t c, int64_t x, row *made) {
    if (c == 0) {
        begin_row(q, x, made);
        return;
    }
    memset(q->marks, 0, (size_t)(q->asked + 2) * sizeof(int64_t));
    for (int64_t here = 0; here <= x; here++) {
        const row *before = q->before + (x - here);
        const span *on = at(q, c, here);
        for (int k = 0; k < 2; k++) {
            for (int64_t i = 0; i < before->count && on->least[k] <= on->most[k]; i++) {
                const int64_t least = before->stretches[i].least + on->least[k];
                if (least > q->asked) break;
                q->marks[least]++;
                q->marks[smaller(before->stretches[i].most + on->most[k], q->asked) + 1]--;
            }
        }
    }
    made->count = 0;
    int64_t depth = 0;
    for (int64_t y = 0; y <= q->asked; y++) {
        const bool was_held = depth > 0;
        depth += q->marks[y];
        if (depth > 0 && !was_held) made->stretches[made->count++].least = (int32_t)y;
        if (depth > 0) made->stretches[made->count - 1].most = (int32_t)y;
    }
}

/* Add a cluster to those before. */
static void add_cluster(question *q, int64_t c) {
    for (int64_t x = 0; x <= q->tasks; x++) write_row(q, c, x, q->after + x);
    row *const before = q->before;
    q->before = q->after;
    q->after = before;
}

/* Go through all ways to put the first job on all clusters: most on the first ones. */
static bool are_held(question *q) {
    const int64_t y_at = q->num_clusters - 2, z_at = q->num_clusters - 1;
    for (int64_t c = 0; c < q->num_clusters; c++)
        for (int64_t x = 0; x <= q->tasks; x++) *at(q, c, x) = span_of(q, c, x);
    for (int64_t c = 0; c < y_at - 1; c++) add_cluster(q, c);
    for (int64_t x = y_at ? q->tasks : 0; x >= 0; x--) {
        const row *on_x = q->before;
        if (y_at) {
            write_row(q, y_at - 1, x, q->after);
            on_x = q->after;
        }
        const int64_t least = larger(0, q->tasks - x - q->rooms[2 * z_at]);
        for (int64_t y = smaller(q->tasks - x, q->rooms[2 * y_at]); y >= least && on_x->count; y--)
            if (add_up(q, on_x, at(q, y_at, y), at(q, z_at, q->tasks - x - y))) return true;
    }
    return false;
}

/* Make room for the rows; those before the first cluster hold none of either job. */
static void place_rows(question *q, arena *in) {
    q->spans = PLACE(in, q->num_clusters * (q->tasks + 1), span);
    q->before = PLACE(in, q->tasks + 1, row);
    q->after = PLACE(in, q->tasks + 1, row);
    q->marks = PLACE(in, q->asked + 2, int64_t);
    const int64_t length = q->asked / 2 + 2;
    stretch *stretches = PLACE(in, 2 * (q->tasks + 1) * length, stretch);
    for (int64_t x = 0; stretches && x <= q->tasks; x++) {
        q->before[x] = (row){0, stretches + x * length};
        q->after[x] = (row){0, stretches + (q->tasks + 1 + x) * length};
    }
    if (!stretches) return;
    q->before[0].count = 1;
    q->before[0].stretches[0] = (stretch){0, 0};
}

int64_t wide_jobs_are_held(
    int64_t num_clusters, int64_t tasks, int64_t asked, const int64_t *capacities, const int64_t *rooms,
    const double *limits, const double *loads, const double *of_other) {
    if (num_clusters < 2 || num_clusters > MOST_CLUSTERS) return FAULT(OUT_OF_RANGE, NUM_CLUSTERS);
    if (tasks < 0 || tasks >= MOST_PAIRS) return FAULT(OUT_OF_RANGE, TASKS);
    if (asked < 0 || asked >= MOST_PAIRS / (tasks + 1)) return FAULT(OUT_OF_RANGE, ASKED);
    for (int64_t c = 0; c < num_clusters; c++) {
        if (capacities[c] < 0) return FAULT(OUT_OF_RANGE, CAPACITIES);
        if (rooms[2 * c] < 0 || rooms[2 * c + 1] < 0) return FAULT(OUT_OF_RANGE, ROOMS);
        if (isnan(limits[c])) return FAULT(NOT_A_NUMBER, LIMITS);
    }
    question q = {num_clusters, tasks, asked, capacities, rooms, limits, loads, of_other, NULL, NULL, NULL, NULL};
    arena scratch = {NULL, 0};
    place_rows(&q, &scratch);
    if (!make_room(&scratch)) return FAULT(NO_MEMORY, 0);
    place_rows(&q, &scratch);
    const bool result = are_held(&q);
    free(scratch.room);
    return result;
}
