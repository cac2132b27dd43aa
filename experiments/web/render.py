"""Templates made into pages. Every text that goes into one is escaped, its control characters made visible."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from trialogue.errors import MissingExtra
from trialogue.experiments.show import visible as escaped

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, *, feature: str, extra: str, **values: Any) -> str:
    """The page. ``feature`` and ``extra`` are named by MissingExtra where jinja2 is not installed."""
    return _environment(feature, extra).get_template(template).render(values)


def require(feature: str, extra: str) -> None:
    """Raises MissingExtra where jinja2 is not installed."""
    _environment(feature, extra)


def visible(text: str) -> str:
    """The text with what does not print as escapes: control characters, marks that turn the direction of writing."""
    return "\t".join(escaped(line) for line in text.split("\t"))


def style() -> str:
    """The one style sheet."""
    return resources.files(__package__).joinpath("templates", "style.css").read_text("utf-8")


def style_hash() -> str:
    """The style sheet as a source in a Content-Security-Policy: nothing else may style the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(style().encode()).digest()).decode()}'"


@cache
def _environment(feature: str, extra: str) -> Environment:
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtra(feature, "jinja2", extra) from error
    from markupsafe import Markup

    def shown(value: Any) -> Any:
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    return jinja2.Environment(
        loader=jinja2.PackageLoader("trialogue.experiments.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=shown,
    )
