/* Constraints that tie times of jobs to each other, and to calendars and latest ends. The rules, and the order of every
   sum, are those of coalloc.problem. */

#ifndef CONSTRAINTS_H
#define CONSTRAINTS_H

#include "problem.h"

typedef struct constraints constraints;
typedef struct spending spending;

/* Make constraints of jobs; times are ticks. A job ends by its latest end, and is placed behind those that it awaits.
   The terms of a row, starts or ends of jobs with factors of 1 or -1, sum to a least number; or (is_apart) no two of its
   jobs run at one time. `row_of` has the rows that name each job. A job with a calendar (-1: none) starts in a window of
   a period that repeats from an offset on, on a clock that is ahead of ticks by a shift: by window, in order, its last
   start, and the first start of it and all behind it. Starts may be too late: by a slack in rows, by a tolerance in
   calendars. */
ENGINE(int64_t) constraints_new(
    constraints *made[1], int64_t num_jobs, int64_t num_awaited, int64_t num_rows, int64_t num_terms,
    int64_t num_named, int64_t num_calendars, int64_t num_windows, double slack, double tolerance, double shift,
    const double latest[num_jobs], const int64_t awaited_first[num_jobs + 1], const int64_t awaited[num_awaited],
    const uint8_t is_apart[num_rows], const double least[num_rows], const int64_t term_first[num_rows + 1],
    const int64_t term_job[num_terms], const int64_t factor[num_terms], const uint8_t of_end[num_terms],
    const int64_t row_first[num_jobs + 1], const int64_t row_of[num_named],
    const int64_t calendar_of[num_jobs], const double periods[num_calendars], const double offsets[num_calendars],
    const int64_t window_first[num_calendars + 1], const double lasts[num_windows], const double firsts[num_windows]);
ENGINE(void) constraints_free(constraints *of);

/* When a job runs; a start of infinity: it has no place yet. */
typedef struct {
    double start, end;
} span;

struct constraints {
    int64_t num_jobs, num_rows;
    double slack, tolerance, shift;
    const double *latest, *least, *periods, *offsets, *lasts, *firsts;
    const int64_t *awaited_first, *awaited, *term_first, *term_job, *factor, *row_first, *row_of, *calendar_of;
    const int64_t *window_first;
    const uint8_t *is_apart, *of_end;
    uint8_t *is_timed; /* by job, whether a row says something about its times in terms of another's */
    spending *spending; /* NULL without budgets and rows of clusters */
    arena kept;
};

/* Whether all jobs that a job awaits have a place. */
bool constraints_admit(const constraints *of, int64_t job, const span *placed);

/* Whether a job awaits another. */
bool constraints_await(const constraints *of, int64_t job, int64_t other);

/* Return the first start, from one on, that nothing forbids to an admitted job of a duration beside those placed;
   infinity where there is none. */
double constraints_start(const constraints *of, int64_t job, double start, double duration, const span *placed);

#endif
