"""jsroot from the npm registry, for tests that run it with node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def jsroot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with jsroot."""
    required = os.environ.get("CI") == "true"
    if shutil.which("npm") is None:
        if required:
            pytest.fail("npm is missing")
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("jsroot")
    (folder / "package.json").write_text('{"type": "module"}')
    done = subprocess.run(
        ["npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", "jsroot@7"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode != 0:
        if required:
            pytest.fail(f"npm install failed: {done.stderr}")
        pytest.skip("jsroot cannot be installed here")
    return folder


def run(folder: Path, script: str, *arguments: object) -> Any:
    """Runs a module in a folder with jsroot; gives the JSON of the last line that it prints."""
    (folder / "script.mjs").write_text(script)
    done = subprocess.run(
        ["node", "script.mjs", *map(str, arguments)], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
