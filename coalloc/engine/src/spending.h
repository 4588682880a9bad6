/* Spending: what placed jobs leave to others of budgets, and of clusters that are tied. The rules, and the order of
   every sum, are those of coalloc.problem.budgets and coalloc.problem.cluster_rows. */

#ifndef SPENDING_H
#define SPENDING_H

#include "constraints.h"
#include "spreads.h"

/* Give budgets and rows of clusters to constraints of a problem. What a job takes of each budget is listed by vectors
   of its tasks in the clusters, in lexicographic order; it has none that is not listed. The jobs of a row are in one
   cluster (is_same), one of its homes, or no two of them are in one. Rooms are what classes hold of a job; scope says
   whether one is in any classes (0), in one cluster (1) or in one class (2). Jobs whose fillings are refused are not
   looked for later where modes are few. */
ENGINE(int64_t) constraints_spend(
    constraints *of, const problem *p, int64_t num_jobs, int64_t num_classes, int64_t num_clusters,
    int64_t num_budgets, int64_t num_vectors, int64_t num_rows, int64_t num_named, int64_t scope, int64_t is_few,
    const int64_t cluster_of[num_classes], const int64_t rooms[num_jobs * num_classes],
    const double limits[num_budgets], const int64_t vector_first[num_jobs + 1],
    const int64_t vectors[num_vectors * num_clusters], const double taken[num_vectors * num_budgets],
    const uint8_t is_same[num_rows], const uint8_t homes[num_rows * num_clusters],
    const int64_t row_first[num_rows + 1], const int64_t row_job[num_named]);

/* What is asked for, and what has been placed: sums of budgets, and by job the clusters that it uses, if it has been. */
struct spending {
    const problem *of;
    int64_t num_clusters, num_budgets, num_rows, scope;
    bool is_few;
    const int64_t *cluster_of, *rooms, *vector_first, *vectors, *row_first, *row_job;
    const double *limits, *taken;
    const uint8_t *is_same, *homes;
    arena kept;
};

typedef struct {
    const spending *by;
    double *spent;
    uint8_t *is_placed, *used, *left, *others;
    int64_t *tasks, *room, *held, *widest;
    spread_room spreads;
} spent;

void spent_place(spent *made, arena *in, const spending *by);

/* Forget all that has been placed. */
void spent_begin(spent *of);

/* Count an allocation of a job. */
void spent_take(spent *of, int64_t job, const int64_t *allocation);

/* Whether a job may have an allocation, so that each other is left enough. */
bool spent_affords(spent *of, int64_t job, const int64_t *allocation);

/* Note what is free for a member where rows let it be; narrow: in as few clusters there as its tasks need. */
void spent_mask(spent *of, int64_t member, const int64_t *free, bool is_narrow, int64_t *masked);

void spending_free(spending *of);

#endif
