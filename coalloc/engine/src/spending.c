#include "spending.h"

/* Numbers of parameters, for faults. */
enum {
    PROBLEM = 1, NUM_JOBS, NUM_CLASSES, NUM_CLUSTERS, SCOPE = 9, CLUSTER_OF = 11, ROOMS, LIMITS, VECTOR_FIRST, VECTORS,
    TAKEN, ROW_FIRST = 19, ROW_JOB
};

static int64_t fault_of(const spending *s, int64_t num_vectors, int64_t num_named) {
    const problem *p = s->of;
    const int64_t most = INT64_MAX / 4;
    if (s->num_clusters < 1 || s->num_clusters > larger(1, p->num_classes)) return FAULT(OUT_OF_RANGE, NUM_CLUSTERS);
    if (s->scope < 0 || s->scope > 2) return FAULT(OUT_OF_RANGE, SCOPE);
    if (p->spreads && p->spreads->num_clusters != s->num_clusters) return FAULT(OUT_OF_RANGE, NUM_CLUSTERS);
    if (!are_within(s->cluster_of, p->num_classes, 0, s->num_clusters - 1)) return FAULT(OUT_OF_RANGE, CLUSTER_OF);
    if (!are_within(s->rooms, p->num_jobs * p->num_classes, 0, most / larger(1, p->num_classes)))
        return FAULT(OUT_OF_RANGE, ROOMS);
    if (!are_numbers(s->limits, s->num_budgets)) return FAULT(NOT_A_NUMBER, LIMITS);
    if (!are_firsts(s->vector_first, p->num_jobs + 1, num_vectors)) return FAULT(OUT_OF_ORDER, VECTOR_FIRST);
    if (!are_within(s->vectors, num_vectors * s->num_clusters, 0, most)) return FAULT(OUT_OF_RANGE, VECTORS);
    if (!are_numbers(s->taken, num_vectors * s->num_budgets)) return FAULT(NOT_A_NUMBER, TAKEN);
    if (!are_firsts(s->row_first, s->num_rows + 1, num_named)) return FAULT(OUT_OF_ORDER, ROW_FIRST);
    if (!are_within(s->row_job, num_named, 0, p->num_jobs - 1)) return FAULT(OUT_OF_RANGE, ROW_JOB);
    return 0;
}

int64_t constraints_spend(
    constraints *of, const problem *p, int64_t num_jobs, int64_t num_classes, int64_t num_clusters, int64_t num_budgets,
    int64_t num_vectors, int64_t num_rows, int64_t num_named, int64_t scope, int64_t is_few, const int64_t *cluster_of,
    const int64_t *rooms, const double *limits, const int64_t *vector_first, const int64_t *vectors,
    const double *taken, const uint8_t *is_same, const uint8_t *homes, const int64_t *row_first,
    const int64_t *row_job) {
    const spending given = {
        p, num_clusters, num_budgets, num_rows, scope, is_few != 0, cluster_of, rooms, vector_first, vectors, row_first,
        row_job, limits, taken, is_same, homes, {NULL, 0}
    };
    if (of->spending) return FAULT(OUT_OF_ORDER, 0);
    if (of->num_jobs != p->num_jobs) return FAULT(OUT_OF_RANGE, PROBLEM);
    if (num_jobs != p->num_jobs) return FAULT(OUT_OF_RANGE, NUM_JOBS);
    if (num_classes != p->num_classes) return FAULT(OUT_OF_RANGE, NUM_CLASSES);
    const int64_t fault = fault_of(&given, num_vectors, num_named);
    if (fault) return fault;
    spending *s = malloc(sizeof(spending));
    if (!s) return FAULT(NO_MEMORY, 0);
    *s = given;
    for (int pass = 0; pass < 2; pass++) {
        KEEP(&s->kept, s->cluster_of, num_classes);
        KEEP(&s->kept, s->rooms, num_jobs * num_classes);
        KEEP(&s->kept, s->limits, num_budgets);
        KEEP(&s->kept, s->vector_first, num_jobs + 1);
        KEEP(&s->kept, s->vectors, num_vectors * num_clusters);
        KEEP(&s->kept, s->taken, num_vectors * num_budgets);
        KEEP(&s->kept, s->is_same, num_rows);
        KEEP(&s->kept, s->homes, num_rows * num_clusters);
        KEEP(&s->kept, s->row_first, num_rows + 1);
        KEEP(&s->kept, s->row_job, num_named);
        if (!pass && !make_room(&s->kept)) {
            free(s);
            return FAULT(NO_MEMORY, 0);
        }
    }
    of->spending = s;
    return 0;
}

void spending_free(spending *of) {
    if (!of) return;
    free(of->kept.room);
    free(of);
}

void spent_place(spent *made, arena *in, const spending *by) {
    const problem *p = by->of;
    made->by = by;
    made->spent = PLACE(in, by->num_budgets, double);
    made->is_placed = PLACE(in, p->num_jobs, uint8_t);
    made->used = PLACE(in, p->num_jobs * by->num_clusters, uint8_t);
    made->left = PLACE(in, by->num_clusters, uint8_t);
    made->others = PLACE(in, by->num_clusters, uint8_t);
    made->tasks = PLACE(in, by->num_clusters, int64_t);
    made->room = PLACE(in, p->num_classes, int64_t);
    made->held = PLACE(in, by->num_clusters, int64_t);
    made->widest = PLACE(in, larger(by->num_clusters, p->num_classes), int64_t);
    spread_room_place(&made->spreads, in, p);
}

void spent_begin(spent *of) {
    for (int64_t r = 0; r < of->by->num_budgets; r++) of->spent[r] = 0.0;
    memset(of->is_placed, 0, (size_t)of->by->of->num_jobs);
}

/* Note the tasks of an allocation in each cluster; return what they take of budgets, NULL where that is not listed. */
static const double *taken_by(spent *of, int64_t job, const int64_t *allocation) {
    const spending *by = of->by;
    for (int64_t c = 0; c < by->num_clusters; c++) of->tasks[c] = 0;
    for (int64_t g = 0; g < by->of->num_classes; g++) of->tasks[by->cluster_of[g]] += allocation[g];
    int64_t low = by->vector_first[job], high = by->vector_first[job + 1];
    while (low < high) {
        const int64_t middle = (low + high) / 2, *other = by->vectors + middle * by->num_clusters;
        int64_t c = 0;
        while (c < by->num_clusters && other[c] == of->tasks[c]) c++;
        if (c == by->num_clusters) return by->taken + middle * by->num_budgets;
        if (other[c] < of->tasks[c]) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

/* Note which clusters the tasks are in that are noted. */
static void use(spent *of, int64_t job) {
    of->is_placed[job] = 1;
    for (int64_t c = 0; c < of->by->num_clusters; c++) of->used[job * of->by->num_clusters + c] = of->tasks[c] > 0;
}

void spent_take(spent *of, int64_t job, const int64_t *allocation) {
    const double *taken = taken_by(of, job, allocation);
    for (int64_t r = 0; r < of->by->num_budgets; r++) of->spent[r] += taken ? taken[r] : INFINITY;
    use(of, job);
}

static bool names(const spending *by, int64_t row, int64_t job) {
    for (int64_t i = by->row_first[row]; i < by->row_first[row + 1]; i++)
        if (by->row_job[i] == job) return true;
    return false;
}

/* Note which clusters the jobs of a row use that have been placed, but for one; return whether there are such. */
static bool note_others(spent *of, int64_t row, int64_t job) {
    const spending *by = of->by;
    bool are_some = false;
    memset(of->others, 0, (size_t)by->num_clusters);
    for (int64_t i = by->row_first[row]; i < by->row_first[row + 1]; i++) {
        const int64_t other = by->row_job[i];
        if (other == job || !of->is_placed[other]) continue;
        for (int64_t c = 0; c < by->num_clusters; c++)
            if (of->used[other * by->num_clusters + c]) of->others[c] = are_some = true;
    }
    return are_some;
}

/* Note which clusters rows leave to a job: of one that is where others are, theirs, or those that hold all. */
static void note_left(spent *of, int64_t job) {
    const spending *by = of->by;
    memset(of->left, 1, (size_t)by->num_clusters);
    for (int64_t row = 0; row < by->num_rows; row++) {
        if (!names(by, row, job)) continue;
        const bool are_some = note_others(of, row, job);
        const uint8_t *where = are_some ? of->others : by->homes + row * by->num_clusters;
        for (int64_t c = 0; c < by->num_clusters; c++)
            of->left[c] = of->left[c] && (by->is_same[row] ? where[c] : !of->others[c]);
    }
}

static bool is_last(void *with, const int64_t *tasks) {
    (void)with, (void)tasks;
    return true;
}

/* Whether the clusters that are left hold a job in one of its shapes, links and other jobs aside. */
static bool fits(spent *of, int64_t job) {
    const spending *by = of->by;
    const problem *p = by->of;
    int64_t widest = 0;
    for (int64_t c = 0; c < by->num_clusters; c++) of->held[c] = 0;
    for (int64_t g = 0; g < p->num_classes; g++) {
        of->room[g] = of->left[by->cluster_of[g]] ? by->rooms[job * p->num_classes + g] : 0;
        of->widest[g] = g;
        of->held[by->scope ? by->cluster_of[g] : 0] += of->room[g];
        widest = larger(widest, by->scope == 2 ? of->room[g] : of->held[by->scope ? by->cluster_of[g] : 0]);
    }
    for (int64_t m = p->member_first[job]; m < p->member_first[job + 1]; m++) {
        if (p->tasks[m] > widest) continue;
        const spreads *spreads = of->spreads.by;
        const int64_t spread = spreads ? spreads->spread_of[p->shape_of[m]] : -1;
        if (spread < 0) return true;
        spreads_hold(&of->spreads, of->room, of->widest, p->num_classes);
        if (spreads_visit(&of->spreads, spread, p->tasks[m], is_last, NULL)) return true;
    }
    return false;
}

/* Whether there are clusters enough for the jobs without a place of each row that gives each its own. */
static bool suffice(spent *of) {
    const spending *by = of->by;
    for (int64_t row = 0; row < by->num_rows; row++) {
        if (by->is_same[row]) continue;
        note_others(of, row, -1);
        int64_t free = by->num_clusters, waiting = 0;
        for (int64_t c = 0; c < by->num_clusters; c++) free -= of->others[c];
        for (int64_t i = by->row_first[row]; i < by->row_first[row + 1]; i++) waiting += !of->is_placed[by->row_job[i]];
        if (free < waiting) return false;
    }
    return true;
}

/* Whether the jobs that rows tie to one, and that have no place, fit where they are left. */
static bool others_fit(spent *of, int64_t job) {
    const spending *by = of->by;
    for (int64_t row = 0; row < by->num_rows; row++) {
        if (!names(by, row, job)) continue;
        for (int64_t i = by->row_first[row]; i < by->row_first[row + 1]; i++) {
            if (of->is_placed[by->row_job[i]]) continue;
            note_left(of, by->row_job[i]);
            if (!fits(of, by->row_job[i])) return false;
        }
    }
    return true;
}

bool spent_affords(spent *of, int64_t job, const int64_t *allocation) {
    const spending *by = of->by;
    const double *taken = taken_by(of, job, allocation);
    for (int64_t r = 0; r < by->num_budgets; r++)
        if (!taken || !(of->spent[r] + taken[r] <= by->limits[r])) return false;
    if (!by->num_rows) return true;
    note_left(of, job);
    for (int64_t c = 0; c < by->num_clusters; c++)
        if (of->tasks[c] && !of->left[c]) return false;
    use(of, job);
    const bool is_enough = suffice(of) && others_fit(of, job);
    of->is_placed[job] = 0;
    return is_enough;
}

/* Leave as few clusters as the tasks of a member need, those with most processors first. */
static void narrow(spent *of, int64_t member, const int64_t *free) {
    const spending *by = of->by;
    const problem *p = by->of;
    const uint8_t *inside = p->inside + p->set_of[member] * p->num_classes;
    int64_t number = 0, before = 0;
    for (int64_t c = 0; c < by->num_clusters; c++) of->held[c] = 0;
    for (int64_t g = 0; g < p->num_classes; g++)
        if (inside[g]) of->held[by->cluster_of[g]] += free[g];
    for (int64_t c = 0; c < by->num_clusters; c++) {
        if (!of->left[c]) continue;
        int64_t k = number++;
        for (; k > 0 && of->held[of->widest[k - 1]] < of->held[c]; k--) of->widest[k] = of->widest[k - 1];
        of->widest[k] = c;
    }
    for (int64_t k = 0; k < number; k++) {
        if (before >= p->tasks[member]) of->left[of->widest[k]] = 0;
        before += of->held[of->widest[k]];
    }
}

void spent_mask(spent *of, int64_t member, const int64_t *free, bool is_narrow, int64_t *masked) {
    const problem *p = of->by->of;
    note_left(of, p->job_of[member]);
    if (is_narrow) narrow(of, member, free);
    for (int64_t g = 0; g < p->num_classes; g++) masked[g] = of->left[of->by->cluster_of[g]] ? free[g] : 0;
}
