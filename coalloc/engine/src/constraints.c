#include "spending.h"

/* Rounds after which a job has no start where its calendar forbids what it has just allowed: clocks so far from 0 that
   they cannot tell its windows apart. */
enum { MOST_ROUNDS = 1000 };

/* Numbers of parameters, for faults. */
enum {
    NUM_JOBS = 1, SLACK = 8, TOLERANCE, SHIFT, LATEST, AWAITED_FIRST, AWAITED, ROW_LEAST = 15, TERM_FIRST, TERM_JOB,
    FACTOR, ROW_FIRST = 20, ROW_OF, CALENDAR_OF, PERIODS, OFFSETS, WINDOW_FIRST, LASTS, FIRSTS
};

/* Return the fault in the calendars, of which each has windows in order, within a period that can be divided by. */
static int64_t fault_of_calendars(const constraints *c, int64_t num_calendars) {
    for (int64_t n = 0; n < num_calendars; n++) {
        const int64_t first = c->window_first[n], behind = c->window_first[n + 1];
        if (!(c->periods[n] > 0.0 && c->periods[n] < INFINITY)) return FAULT(OUT_OF_RANGE, PERIODS);
        if (!isfinite(c->offsets[n])) return FAULT(NOT_A_NUMBER, OFFSETS);
        if (first == behind) return FAULT(OUT_OF_ORDER, WINDOW_FIRST);
        for (int64_t i = first; i < behind; i++) {
            if (!(c->lasts[i] <= c->periods[n])) return FAULT(OUT_OF_RANGE, LASTS);
            if (i > first && c->lasts[i] < c->lasts[i - 1]) return FAULT(OUT_OF_ORDER, LASTS);
            if (!(0.0 <= c->firsts[i] && c->firsts[i] <= c->lasts[i])) return FAULT(OUT_OF_RANGE, FIRSTS);
        }
    }
    return 0;
}

static int64_t fault_of(
    const constraints *c, int64_t num_awaited, int64_t num_terms, int64_t num_named, int64_t num_calendars,
    int64_t num_windows) {
    const int64_t n = c->num_jobs;
    if (isnan(c->slack)) return FAULT(NOT_A_NUMBER, SLACK);
    if (!isfinite(c->tolerance)) return FAULT(NOT_A_NUMBER, TOLERANCE);
    if (!isfinite(c->shift)) return FAULT(NOT_A_NUMBER, SHIFT);
    if (!are_numbers(c->latest, n)) return FAULT(NOT_A_NUMBER, LATEST);
    if (!are_numbers(c->least, c->num_rows)) return FAULT(NOT_A_NUMBER, ROW_LEAST);
    if (!are_firsts(c->awaited_first, n + 1, num_awaited)) return FAULT(OUT_OF_ORDER, AWAITED_FIRST);
    if (!are_within(c->awaited, num_awaited, 0, n - 1)) return FAULT(OUT_OF_RANGE, AWAITED);
    if (!are_firsts(c->term_first, c->num_rows + 1, num_terms)) return FAULT(OUT_OF_ORDER, TERM_FIRST);
    if (!are_within(c->term_job, num_terms, 0, n - 1)) return FAULT(OUT_OF_RANGE, TERM_JOB);
    if (!are_within(c->factor, num_terms, -1, 1)) return FAULT(OUT_OF_RANGE, FACTOR);
    if (!are_firsts(c->row_first, n + 1, num_named)) return FAULT(OUT_OF_ORDER, ROW_FIRST);
    if (!are_within(c->row_of, num_named, 0, c->num_rows - 1)) return FAULT(OUT_OF_RANGE, ROW_OF);
    if (!are_within(c->calendar_of, n, -1, num_calendars - 1)) return FAULT(OUT_OF_RANGE, CALENDAR_OF);
    if (!are_firsts(c->window_first, num_calendars + 1, num_windows)) return FAULT(OUT_OF_ORDER, WINDOW_FIRST);
    if (!are_numbers(c->lasts, num_windows)) return FAULT(NOT_A_NUMBER, LASTS);
    if (!are_numbers(c->firsts, num_windows)) return FAULT(NOT_A_NUMBER, FIRSTS);
    return fault_of_calendars(c, num_calendars);
}

/* Note which jobs a row ties to the times of others. */
static void note_timed(constraints *c) {
    for (int64_t row = 0; row < c->num_rows; row++) {
        const int64_t first = c->term_first[row], behind = c->term_first[row + 1];
        if (c->is_apart[row] || behind - first < 2) continue;
        for (int64_t i = first; i < behind; i++) c->is_timed[c->term_job[i]] = 1;
    }
}

int64_t constraints_new(
    constraints *made[1], int64_t num_jobs, int64_t num_awaited, int64_t num_rows, int64_t num_terms,
    int64_t num_named, int64_t num_calendars, int64_t num_windows, double slack, double tolerance, double shift,
    const double *latest, const int64_t *awaited_first, const int64_t *awaited, const uint8_t *is_apart,
    const double *least, const int64_t *term_first, const int64_t *term_job, const int64_t *factor,
    const uint8_t *of_end, const int64_t *row_first, const int64_t *row_of, const int64_t *calendar_of,
    const double *periods, const double *offsets, const int64_t *window_first, const double *lasts,
    const double *firsts) {
    const constraints given = {
        num_jobs, num_rows, slack, tolerance, shift, latest, least, periods, offsets, lasts, firsts, awaited_first, awaited,
        term_first, term_job, factor, row_first, row_of, calendar_of, window_first, is_apart, of_end, NULL, NULL, {NULL, 0}
    };
    const int64_t fault = fault_of(&given, num_awaited, num_terms, num_named, num_calendars, num_windows);
    if (fault) return fault;
    constraints *c = malloc(sizeof(constraints));
    if (!c) return FAULT(NO_MEMORY, 0);
    *c = given;
    for (int pass = 0; pass < 2; pass++) {
        KEEP(&c->kept, c->latest, num_jobs);
        KEEP(&c->kept, c->awaited_first, num_jobs + 1);
        KEEP(&c->kept, c->awaited, num_awaited);
        KEEP(&c->kept, c->is_apart, num_rows);
        KEEP(&c->kept, c->least, num_rows);
        KEEP(&c->kept, c->term_first, num_rows + 1);
        KEEP(&c->kept, c->term_job, num_terms);
        KEEP(&c->kept, c->factor, num_terms);
        KEEP(&c->kept, c->of_end, num_terms);
        KEEP(&c->kept, c->row_first, num_jobs + 1);
        KEEP(&c->kept, c->row_of, num_named);
        KEEP(&c->kept, c->calendar_of, num_jobs);
        KEEP(&c->kept, c->periods, num_calendars);
        KEEP(&c->kept, c->offsets, num_calendars);
        KEEP(&c->kept, c->window_first, num_calendars + 1);
        KEEP(&c->kept, c->lasts, num_windows);
        KEEP(&c->kept, c->firsts, num_windows);
        c->is_timed = PLACE(&c->kept, num_jobs, uint8_t);
        if (!pass && !make_room(&c->kept)) {
            free(c);
            return FAULT(NO_MEMORY, 0);
        }
    }
    note_timed(c);
    made[0] = c;
    return 0;
}

void constraints_free(constraints *of) {
    if (!of) return;
    spending_free(of->spending);
    free(of->kept.room);
    free(of);
}

bool constraints_admit(const constraints *of, int64_t job, const span *placed) {
    for (int64_t i = of->awaited_first[job]; i < of->awaited_first[job + 1]; i++)
        if (placed[of->awaited[i]].start == INFINITY) return false;
    return true;
}

bool constraints_await(const constraints *of, int64_t job, int64_t other) {
    for (int64_t i = of->awaited_first[job]; i < of->awaited_first[job + 1]; i++)
        if (of->awaited[i] == other) return true;
    return false;
}

/* Return when the last of the jobs of a row ends that run while one would. */
static double apart(const constraints *c, int64_t row, int64_t job, double start, double duration, const span *placed) {
    double until = -INFINITY;
    for (int64_t i = c->term_first[row]; i < c->term_first[row + 1]; i++) {
        const int64_t other = c->term_job[i];
        if (other == job || placed[other].start == INFINITY) continue;
        if (start < placed[other].end && placed[other].start < start + duration) until = later(until, placed[other].end);
    }
    return until == -INFINITY ? start : until;
}

/* Return from when on a job may start by a row; infinity where no later start keeps it. Where a job that it names has no
   place it forbids nothing. */
static double in_sum(const constraints *c, int64_t row, int64_t job, double start, double duration, const span *placed) {
    int64_t of_start = 0;
    double least = c->least[row];
    for (int64_t i = c->term_first[row]; i < c->term_first[row + 1]; i++) {
        const int64_t other = c->term_job[i];
        const double factor = (double)c->factor[i];
        if (other == job) {
            of_start += c->factor[i];
            least -= factor * (c->of_end[i] ? duration : 0.0);
        } else if (placed[other].start < INFINITY) {
            least -= factor * (c->of_end[i] ? placed[other].end : placed[other].start);
        } else {
            return start;
        }
    }
    if (of_start > 0) return later(start, least);
    return (double)of_start * start >= least - c->slack ? start : INFINITY;
}

/* Return the first start from one on that a calendar allows. */
static double in_calendar(const constraints *c, int64_t calendar, double tick) {
    const int64_t begin = c->window_first[calendar], size = c->window_first[calendar + 1] - begin;
    const double *lasts = c->lasts + begin, *firsts = c->firsts + begin, period = c->periods[calendar];
    const double time = tick + c->shift;
    double phase = fmod(time - c->offsets[calendar], period);
    if (phase < 0.0) phase += period;
    if (lasts[size - 1] - period >= phase - c->tolerance) return time - c->shift; /* the last window of the period before */
    int64_t low = 0, high = size;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (lasts[middle] < phase - c->tolerance) low = middle + 1;
        else high = middle;
    }
    const double next = period + firsts[0] - phase;
    return time + (low == size ? next : earlier(next, later(0.0, firsts[low] - phase))) - c->shift;
}

double constraints_start(const constraints *of, int64_t job, double start, double duration, const span *placed) {
    int64_t again = 0; /* rounds in which the calendar alone forbade what it had allowed */
    while (start < INFINITY && start + duration <= of->latest[job] && again < MOST_ROUNDS) {
        double found = start;
        for (int64_t i = of->row_first[job]; i < of->row_first[job + 1]; i++) {
            const int64_t row = of->row_of[i];
            found = later(found, (of->is_apart[row] ? apart : in_sum)(of, row, job, start, duration, placed));
        }
        again = found > start ? 0 : again + 1;
        if (of->calendar_of[job] >= 0 && found < INFINITY) found = in_calendar(of, of->calendar_of[job], found);
        if (!(found > start)) return start;
        start = found;
    }
    return INFINITY;
}
