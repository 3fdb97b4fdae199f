"""Runs pyright, and fails if it left a module out: it says nothing itself where its paths lead nowhere."""

import json
import subprocess
import sys
from pathlib import Path

from support.modules import ROOT, modules


def main() -> int:
    """Prints what pyright finds; 1 where it finds an error or examined fewer files than there are modules."""
    command = [str(Path(sys.executable).with_name("pyright")), "--pythonpath", sys.executable, "--outputjson"]
    said = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout)
    for one in said["generalDiagnostics"]:
        place = one["range"]["start"]["line"] + 1
        sys.stdout.write(
            f"{one['file']}:{place} - {one['severity']}: {one['message']} ({one.get('rule', '')})\n"
        )
    summary, wanted = said["summary"], len(modules())
    sys.stdout.write(
        f"pyright: {summary['filesAnalyzed']} of {wanted} modules, {summary['errorCount']} errors\n"
    )
    return int(summary["filesAnalyzed"] != wanted or summary["errorCount"] > 0)


if __name__ == "__main__":
    sys.exit(main())
