from coalloc.models import oas_node
from coalloc.problem import discretise
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.testing.small import NODE_MODEL_SIZE, small_instance


def test_loads_exactly_at_the_limit_do_not_cost_the_optimum():
    # Every split of J1 loads both links to exactly their bandwidth. Brute force: ends at 1, 4 and 7 slots, 12 in all.
    # With loads scaled to 1e4 HiGHS called 14 optimal.
    problem = discretise(*small_instance(187, NODE_MODEL_SIZE))
    model = oas_node.build(problem, horizon=12, objective="total-response-time")
    oas_node.set_start(model, best_list_schedule(problem))
    assert solve_model(model, SolverLimits(time=300.0), integral=True, start=True).objective == 12
