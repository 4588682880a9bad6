"""What takes long, as measured: files of many seconds of CPU, and tests of more than 0.3 s in other files; and laws.

``pytest -m "not slow"`` leaves them out, and does not even import the files. A new test that takes long is
named here; what hypothesis tries on many examples need not be.
"""

from __future__ import annotations

from pathlib import Path

FILES = (
    "bench/",
    "benchmarks/",
    "certificates/",
    "explanations/",
    "models/",
    "plot/",
    "solvers/backends/",
    "solvers/bounds/",
    "solvers/energy/",
    "solvers/packages/",
    "solvers/search/",
    "solvers/special/",
    "solvers/test_cancelling.py",
    "solvers/test_descent.py",
    "solvers/test_fixed.py",
    "solvers/test_lexicographic.py",
    "solvers/test_list_schedules.py",
    "solvers/test_oas_solver.py",
    "solvers/test_portfolio.py",
    "solvers/test_reasons.py",
    "solvers/test_resources.py",
    "solvers/test_shapes.py",
    "solvers/test_slotting_bound.py",
    "solvers/test_time_shift.py",
    "studies/",
    "system/test_processes.py",
    "test_agreement.py",
    "test_budgets.py",
    "test_calendars.py",
    "test_extension.py",
    "test_lower_bound.py",
    "test_memory.py",
    "test_modelling_features_page.py",
    "test_notebooks.py",
    "test_packaging.py",
    "test_plugins.py",
    "test_recipes.py",
    "test_site.py",
    "test_spreads.py",
    "test_time_rows.py",
    "test_time_shared_pages.py",
    "test_typing.py",
    "test_verify.py",
    "testing/",
)
"""Files and folders."""
TESTS = (
    "cli/test_audit.py::test_a_log_with_a_broken_line_is_audited_without_it",
    "cli/test_audit.py::test_an_export_is_audited_and_everything_written",
    "cli/test_audit.py::test_without_a_limit_a_period_of_few_jobs_is_audited_to_the_end",
    "cli/test_bad_input.py::test_a_fault_of_an_instance_is_one_line_with_its_path",
    "cli/test_bad_input.py::test_a_gzip_bomb_ends_at_the_stated_limit",
    "cli/test_bench.py::test_a_run_says_where_it_is_and_goes_on_from_there",
    "cli/test_bench.py::test_without_a_command_the_help_is_shown",
    "cli/test_compare.py::test_a_comparison_is_printed_and_written",
    "cli/test_demo.py::test_the_demo_proves_checks_and_draws",
    "cli/test_measuring.py::test_a_run_over_time_is_written_and_drawn",
    "cli/test_measuring.py::test_series_come_in_steps_of_equal_length",
    "cli/test_merge.py::test_traces_are_written_where_they_are_asked_for",
    "cli/test_merge.py::test_weeks_their_account_and_its_picture_go_into_a_folder",
    "cli/test_shell.py::test_a_full_disk_behind_standard_output_is_said",
    "cli/test_shell.py::test_a_reader_that_goes_away_is_no_fault",
    "cli/test_shell.py::test_a_thread_that_does_not_end_does_not_keep_the_command",
    "cli/test_shell.py::test_help_and_version_load_nothing_heavy",
    "cli/test_shell.py::test_ids_that_the_terminal_cannot_show_are_escaped",
    "cli/test_shell.py::test_the_shell_is_told_how_to_complete_commands_and_options",
    "cli/test_simulate.py::test_a_run_is_metered",
    "cli/test_simulate.py::test_a_run_of_sites_that_are_switched_is_metered_as_it_ran",
    "cli/test_simulate.py::test_an_interrupted_run_says_where_it_was",
    "cli/test_simulate.py::test_the_policies_are_listed_with_their_options",
    "cli/test_solve.py::test_an_instance_from_a_pipe",
    "cli/test_solve.py::test_an_interrupt_writes_the_best_known",
    "engine/test_constraints.py::test_lists_under_wrong_arrays_are_refused_or_end",
    "engine/test_library.py::test_a_process_that_is_forked_after_threads_uses_the_engine",
    "engine/test_library.py::test_problems_that_nothing_refers_to_are_freed",
    "engine/test_library.py::test_two_builds_are_equal_byte_by_byte",
    "heuristics/test_loras.py::test_on_dedicated_nodes_the_head_of_the_queue_starts_as_under_fcfs",
    "heuristics/test_loras.py::test_one_place_without_users_is_a_dedicated_node_under_every_mix",
    "heuristics/test_memory.py::test_no_run_exceeds_the_memory",
    "instance/test_features.py::test_random_instances_use_every_pair_of_features",
    "instance/test_files.py::test_a_gzip_bomb_ends_at_the_limit",
    "instance/test_files.py::test_a_hundred_million_brackets",
    "test_api.py::test_a_package_that_is_proven_without_a_model_needs_no_pyomo",
    "test_api.py::test_an_answer_without_a_model_needs_no_pyomo",
    "test_api.py::test_ctrl_c_returns_the_best_known",
    "test_api.py::test_no_time_limit_is_as_much_time_as_it_takes",
    "test_api.py::test_results_are_recomputed_and_checked",
    "test_api.py::test_the_model_that_is_built_is_the_one_that_is_solved",
    "test_api.py::test_values_files_and_checks_need_no_solver",
    "test_clusters_of_jobs.py::test_the_clusters_of_two_jobs",
    "test_docstrings.py::test_the_examples_of_a_docstring_run",
    "test_language.py::test_messages_have_the_terms_of_the_field",
    "test_metrics_page.py::test_the_example_of_the_page_runs",
    "test_pages.py::test_the_blocks_of_a_page_run_and_print_what_is_shown",
    "test_showing.py::test_showing_loads_no_library_for_pictures",
)
"""Tests of other files."""

ROOT = f"{Path(__file__).parent.as_posix()}/"


def is_slow(path: Path, test: str = "") -> bool:
    """Return whether a file, or a test of it by its name, takes long."""
    name = path.as_posix().removeprefix(ROOT)
    return name.startswith(FILES) or f"{name}::{test}" in TESTS
