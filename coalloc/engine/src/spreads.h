/* Spreads: how many tasks a job may have in each cluster. The rules, and the order in which spreads are tried, are those
   of coalloc.instance.spread. */

#ifndef SPREADS_H
#define SPREADS_H

#include "problem.h"

/* Restrict the spreads of some shapes of a problem: most clusters, least tasks in each that has some, equal slices (0:
   of any number), sets of clusters within one of which all are (where it has some), and the only ones that are allowed
   (where they are listed, in lexicographic order). `spread_of` has the number of the spread of a shape, -1 where it
   may be any. By node, a spread takes one class of a cluster. */
ENGINE(int64_t) spreads_restrict(
    problem *of, int64_t num_shapes, int64_t num_classes, int64_t num_clusters, int64_t num_spreads, int64_t num_sets,
    int64_t num_allowed, int64_t is_by_node, const int64_t cluster_of[num_classes], const int64_t spread_of[num_shapes],
    const int64_t most_clusters[num_spreads], const int64_t least[num_spreads], const int64_t slices[num_spreads],
    const uint8_t has_sets[num_spreads], const int64_t set_first[num_spreads + 1],
    const uint8_t sets[num_sets * num_clusters], const uint8_t is_listed[num_spreads],
    const int64_t allowed_first[num_spreads + 1], const int64_t allowed[num_allowed * num_clusters]);

struct spreads {
    int64_t num_clusters;
    bool is_by_node;
    const int64_t *cluster_of, *spread_of, *most_clusters, *least, *slices, *set_first, *allowed_first, *allowed;
    const uint8_t *has_sets, *sets, *is_listed;
    arena kept;
};

/* Room for one search of spreads, of those that there are when it is placed. By cluster tasks that fit, and tasks; all clusters in order, and those of a set; by
   place there tasks that are left, clusters that may still be used, tasks that fit, and what the widest clusters from
   there on hold, by their number; and those, and what is left of tasks by cluster. */
typedef struct {
    const spreads *by;
    int64_t *held, *tasks, *order, *within, *left, *unused, *usable, *sums, *widest, *rest;
} spread_room;

void spread_room_place(spread_room *made, arena *in, const problem *p);

/* Note what clusters hold, by room of some classes, and put the clusters of these first. */
void spreads_hold(spread_room *in, const int64_t *room, const int64_t *classes, int64_t num_classes);

/* What is told each spread (tasks by cluster); it returns whether that was the last one asked for. */
typedef bool visitor(void *with, const int64_t *tasks);

/* Visit spreads of so many tasks on what clusters hold, until one is the last; return whether one was. The first
   clusters of the order have most tasks first. */
bool spreads_visit(spread_room *in, int64_t spread, int64_t tasks, visitor *visit, void *with);

#endif
