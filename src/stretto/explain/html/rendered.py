"""Pages of HTML that hold all they need: nothing is loaded from elsewhere, and every text in them is escaped."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from stretto.screen import LINES, visible


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("stretto.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        finalize=lambda value: visible(value, LINES) if type(value) is str else value,
    )


def rendered(template: str, **values: Any) -> str:
    """The page of a template. Browsers are told to run the one script of ours, if it has one, and to load nothing."""
    script = files("stretto.report").joinpath("templates/explain.js").read_text(encoding="utf-8")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return (
        _environment().get_template(template).render(script=Markup(script), digest=digest, **values)  # noqa: S704 - our own file
    )
