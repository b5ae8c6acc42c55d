"""Prints what a crate of this workspace is made of as a software bill of materials (CycloneDX 1.6, JSON):
python tools/sbom.py [CRATE]

Without a name it is that of the Python module, the largest. Versions and checksums are those of Cargo.lock;
dependencies that only tests and builds have are left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def metadata() -> Any:
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


def reached(resolve: Any, root: str) -> dict[str, list[str]]:
    """The packages that a package is made of, each with those that it needs itself."""
    nodes = {node["id"]: node for node in resolve["nodes"]}
    needs: dict[str, list[str]] = {}
    waiting = [root]
    while waiting:
        package = waiting.pop()
        if package in needs:
            continue
        kinds = (
            (dependency["pkg"], {kind["kind"] for kind in dependency["dep_kinds"]})
            for dependency in nodes[package]["deps"]
        )
        needs[package] = sorted(name for name, kind in kinds if None in kind)
        waiting += needs[package]
    return needs


def reference(package: Any) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package: Any, checksums: dict[tuple[str, str], str]) -> dict[str, Any]:
    name, version = package["name"], package["version"]
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": reference(package),
        "name": name,
        "version": version,
        "purl": reference(package),
    }
    if package.get("description"):
        found["description"] = " ".join(package["description"].split())
    if package.get("license"):
        # Some still write a slash for "or".
        found["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum := checksums.get((name, version)):
        found["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return found


def bill(crate: str) -> dict[str, Any]:
    """The bill of materials of a crate."""
    found = metadata()
    packages = {package["id"]: package for package in found["packages"]}
    members = {packages[member]["name"]: member for member in found["workspace_members"]}
    if crate not in members:
        raise SystemExit(f"no crate {crate!r}; there are {', '.join(sorted(members))}")
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(one["name"], one["version"]): one["checksum"] for one in lock if "checksum" in one}
    needs = reached(found["resolve"], members[crate])
    rest = sorted(package for package in needs if package != members[crate])
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": component(packages[members[crate]], checksums)},
        "components": [component(packages[package], checksums) for package in rest],
        "dependencies": [
            {
                "ref": reference(packages[one]),
                "dependsOn": [reference(packages[other]) for other in needs[one]],
            }
            for one in sorted(needs)
        ],
    }


if __name__ == "__main__":
    print(json.dumps(bill(sys.argv[1] if sys.argv[1:] else "sapwood-python"), indent=1))
