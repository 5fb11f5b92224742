"""Calls of `stretto stream` one after the other, in a process with a Spark session of its own.

    stream_calls.py CALLS SAID

CALLS is a JSON file of lists of arguments; the exit code and the messages of each call go to the file SAID.
"""

import json
import sys
from pathlib import Path

from typer.testing import CliRunner

from stretto.cli.app import app


def main(calls: Path, said: Path) -> None:
    done = []
    for arguments in json.loads(calls.read_text()):
        result = CliRunner().invoke(app, ["stream", *arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        done.append((result.exit_code, result.stderr))
    said.write_text(json.dumps(done))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
