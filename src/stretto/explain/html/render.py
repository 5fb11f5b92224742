"""Pages of HTML that hold all they need: nothing is loaded from elsewhere, and every text in them is escaped."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from stretto.screen import LINES, visible

HERE: Final = "stretto.explain.html"


@cache
def _environment(package: str) -> Environment:
    return Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(HERE)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=lambda value: visible(value, LINES) if type(value) is str else value,
    )


def rendered(template: str, package: str = HERE, **values: Any) -> str:
    """The page of a template of a package. Browsers may run our one script, and load nothing."""
    script = files(HERE).joinpath("templates/explain.js").read_text(encoding="utf-8")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return (
        _environment(package).get_template(template).render(script=Markup(script), digest=digest, **values)  # noqa: S704 - our own file
    )
