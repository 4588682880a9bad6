"""``coalloc certify`` and ``coalloc verify``: certificates of optimality, made and checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

import coalloc
from coalloc import verify as checker
from coalloc.cli.check import InstanceFile
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import instance_file, read_instance
from coalloc.cli.options import OUTPUT, Quiet
from coalloc.cli.output import check_writable, say

ResultFile = Annotated[Path, Argument(metavar="RESULT", help="Result file of coalloc solve.")]
CertificateFile = Annotated[
    Path | None,
    Option(
        "--output", "-o", metavar="FILE", help="Certificate file to write: .json or .json.gz.", rich_help_panel=OUTPUT
    ),
]
TimeLimit = Annotated[float, Option(metavar="SECONDS", help="Time limit for the proof; inf for none.")]
GivenCertificate = Annotated[str, Argument(metavar="CERTIFICATE", help="Certificate file.")]

EXAMPLES = """
Examples:

coalloc certify wl1.json result.json -o certificate.json.gz

Exit codes: 0 the certificate is made and accepted; 1 there is none; 2 invalid input or usage.
"""

VERIFY_EXAMPLES = """
Examples:

coalloc verify wl1.json certificate.json.gz

Exit codes: 0 proved; 1 not proved; 2 a file cannot be read.
"""


def certify(
    instance: InstanceFile,
    result: ResultFile,
    *,
    output: CertificateFile = None,
    time_limit: TimeLimit = 60.0,
    _: Quiet = False,
) -> ExitCode:
    """Prove again that the schedule of a result is optimal, and write the proof as a certificate."""
    check_writable({"--output": output}, (instance, result))
    given, found = read_instance(instance), coalloc.io.read_result(result)
    known = replace(found, instance=given)
    if known.instance_sha256 != found.instance_sha256:
        raise coalloc.CoallocError("the result is that of another instance")
    certificate = known.certificate(None if time_limit == float("inf") else time_limit)
    if certificate and output is not None:
        certificate.write(output)
    say(str(certificate))
    return ExitCode.DONE if certificate else ExitCode.NOTHING


def verify(instance: InstanceFile, certificate: GivenCertificate, _: Quiet = False) -> ExitCode:
    """Check a certificate with nothing but its instance, as coalloc-verify does."""
    with instance_file(instance) as path:
        return ExitCode(checker.main([str(path), certificate]))
