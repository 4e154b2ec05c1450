"""The protocol's own conformance suite, over HTTP: those of its scenarios that need no tools made for the suite.

The program comes from npm: `npm install @modelcontextprotocol/conformance` (Node 22 or later); give its path as
MCP_CONFORMANCE.
"""

from __future__ import annotations

import os
import re
import subprocess

import pytest
from tests.serve.conftest import Running

PROGRAM = os.environ.get("MCP_CONFORMANCE", "")
SCENARIOS = (
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "completion-complete",
    "dns-rebinding-protection",
)


@pytest.mark.slow
@pytest.mark.skipif(not PROGRAM, reason="needs MCP_CONFORMANCE, the path of the protocol's conformance suite")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_of_the_conformance_suite(server: Running, scenario: str) -> None:
    command = [PROGRAM, "server", "--url", f"{server.url}/mcp", "--scenario", scenario]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    passed = re.search(r"Passed: (\d+)/(\d+), 0 failed, 0 warnings", ended.stdout)
    assert ended.returncode == 0 and passed is not None and passed[1] == passed[2] != "0", ended.stdout
