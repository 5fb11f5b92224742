"""`--functions FILE.py`: code of the user that registers functions, for one call of a command."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

from typer import Option

from stretto.cli.console import reported
from stretto.errors import StrettoError


def load_functions(paths: list[str] | None) -> list[str] | None:
    """Run the files, which call `stretto.register_function`; a message and exit code 2 where one cannot be run."""
    with reported():
        for path in paths or ():
            _run(Path(path))
    return paths


FunctionFiles = Annotated[
    list[str] | None,
    Option(
        "--functions",
        metavar="FILE.py",
        help="Python code that registers functions with stretto.register_function, for queries to call.",
        callback=load_functions,
    ),
]


def _run(path: Path) -> None:
    from stretto.pattern.functions import registered_functions

    before = registered_functions()
    module = ModuleType(f"stretto_functions_{path.stem}")
    module.__file__ = str(path)
    # While it runs it is a module like others; afterwards it is none, so that its functions go to workers whole.
    sys.modules[module.__name__] = module
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)  # noqa: S102 - what the caller asked for
    except OSError:
        raise
    except Exception as error:
        line = _line(error, str(path))
        where = f"{path}:{line}" if line else str(path)
        raise StrettoError(f"--functions: {where}: {type(error).__name__}: {error}") from error
    finally:
        del sys.modules[module.__name__]
    if registered_functions() == before:
        raise StrettoError(
            f"--functions: {path} registers no function; one is registered with"
            " stretto.register_function(name, function, arguments, result)"
        )


def _line(error: Exception, path: str) -> int | None:
    """The last line of the file that was at work."""
    found = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found
