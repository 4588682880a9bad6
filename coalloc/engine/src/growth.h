/* Growth: partial schedules of a problem, side by side. At every instant at which something ends or arrives, those that
   go on start what fits, by a plan or by a knapsack. */

#ifndef GROWTH_H
#define GROWTH_H

#include "filling.h"

typedef struct growth growth;

/* Room for so many schedules, one of them made, in which nothing has started. The problem has to outlive it. */
ENGINE(int64_t) growth_new(growth *made[1], const problem *of, int64_t room);
ENGINE(void) growth_free(growth *of);

/* Make copies of schedules of another growth of the problem. */
ENGINE(int64_t) growth_take(growth *of, const growth *from, int64_t num_taken, const int64_t taken[num_taken]);

/* Let a schedule of another growth (parents) go on until an instant by each plan: urgencies of jobs, of which the
   greatest is first; the least efficiency at which a job starts until `relaxed`; the end that no level but the fastest
   may exceed; how classes are filled. Schedules that cannot end before an instant are left out. `progress` has how many
   plans are done, and how many schedules made; `kept` says of which plans.

   A call ends after about so many seconds; the same call again goes on. */
ENGINE(int64_t) growth_by_plans(
    growth *of, const growth *from, int64_t num_plans, int64_t num_jobs,
    const int64_t parents[num_plans], const double urgencies[num_plans * num_jobs], const double thresholds[num_plans],
    const double relaxed[num_plans], const double latest[num_plans], const int64_t rules[num_plans],
    double until, double before, double seconds,
    int64_t kept[num_plans], int64_t progress[2]);

/* Let schedules go on as by plans, but start those that wait and are worth most together, where any processors are as
   good as any others: jobs have one member each, of which tasks are multiples of a unit. Worths are per tick; what ends
   within `nearness` ticks of something else is worth more by a bonus. Prices per tick are those of a bound: by these,
   too, schedules are left out. */
ENGINE(int64_t) growth_by_knapsacks(
    growth *of, const growth *from, int64_t num_plans, int64_t num_jobs, int64_t unit,
    const int64_t parents[num_plans], const double worths[num_plans * num_jobs], const double bonuses[num_plans],
    const double nearness[num_plans], const double prices[num_jobs], double until, double before, double seconds,
    int64_t kept[num_plans], int64_t progress[2]);

/* Write starts and ends of the jobs of each schedule: infinity where one waits. */
ENGINE(int64_t) growth_times(
    const growth *of, int64_t num_schedules, int64_t num_jobs,
    double starts[num_schedules * num_jobs], double ends[num_schedules * num_jobs]);

/* Write the allocations of jobs in a schedule: zeros where one waits. */
ENGINE(int64_t) growth_allocations(
    const growth *of, int64_t schedule, int64_t num_asked, int64_t num_classes, const int64_t jobs[num_asked],
    int64_t allocations[num_asked * num_classes]);

#endif
