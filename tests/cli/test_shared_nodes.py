"""Shared nodes in the shell: generated, simulated, checked; and one line for what knows nothing of them."""

from __future__ import annotations

import pytest

from tests.cli.running import run

UNKNOWN = "time-shared nodes (multiprogramming, local_users or sharing) are not supported by"


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    """Return the path of an instance with users."""
    path = tmp_path_factory.mktemp("shared") / "cisne.json"
    assert run("generate", "cisne", "--seed", "1", "-p", "jobs=10", "-p", "scenario=3", "-o", path).exit_code == 0
    return path


def test_from_the_generator_to_the_checker(instance, tmp_path):
    output = tmp_path / "run.json"
    simulated = run("simulate", instance, "--policy", "loras", "-p", "mix=SNPF-BFit", "-o", output)
    assert (simulated.exit_code, "loras (mix=SNPF-BFit)" in simulated.stdout) == (0, True)
    assert run("check", instance, output, "--links", "shared").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["simulate", "--policy", "easy"], f"{UNKNOWN} policy 'easy';"),
        (["solve"], f"{UNKNOWN} exact methods, bounds and replay;"),
        (["simulate", "--policy", "loras", "--kill"], "kill: is not supported with time-shared nodes"),
        (
            ["simulate", "--policy", "loras", "-p", "mix=SJF-JFirst", "-p", "selection=best-fit"],
            "mix 'SJF-JFirst' of policy 'loras' sets selection; give one or the other",
        ),
        (["simulate", "--policy", "loras", "-p", "node_limit=places"], "node_limit of policy 'loras' must be one of"),
    ],
)
def test_what_cannot_be_is_one_line(instance, arguments, line):
    command, *options = arguments
    refused = run(command, instance, *options)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert len(refused.stderr.splitlines()) == 1
    assert line in refused.stderr
