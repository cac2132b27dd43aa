"""The score of a purchase, against the published rules."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from webshop_samples import goal, item_page, product

from trialogue.envs.webshop import nouns
from trialogue.envs.webshop.scoring import has_attribute, met_options, plain_colour, score, type_factor

LAMP = product(title="Corvane Reading Lamp with Shade", query="lamps", path=("Home", "Lighting", "Lamps"))


def test_full_score_needs_attributes_options_price_and_type() -> None:
    item = product(attributes=("dishwasher safe", "hand made"), options={"color": ("red",)}, price=35.0)
    wanted = goal(item, ("dishwasher safe", "hand made"), ("red",), 40.0)
    assert score(wanted, item, {"color": "red"}).value == 1.0
    assert score(wanted, item, {}).value == 0.75
    assert score(goal(item, ("dishwasher safe", "gold rim"), ("red",), 40.0), item, {"color": "red"}).value == 0.75
    assert score(goal(item, ("dishwasher safe", "hand made"), ("red",), 30.0), item, {"color": "red"}).value == 0.75


@pytest.mark.parametrize(("price", "met"), [(39.99, True), (40.0, True), (40.01, False)])
def test_the_price_limit_itself_is_allowed(price: float, met: bool) -> None:
    """SHOP-11."""
    item = product(price=price, attributes=("hand made",))
    assert score(goal(item, ("hand made",), (), 40.0), item, {}).price is met


def test_score_and_success_are_different_things() -> None:
    """SHOP-04: of the scores 1, 0.5, 0 and 1 the mean is 62.5 percent, and half are successes."""
    item = product(attributes=("hand made",))
    plain = product(asin="B000000002")
    wanted = goal(item, ("hand made",))
    values = [score(wanted, bought, {}).value for bought in (item, plain, LAMP, item)]
    assert values == [1.0, 0.5, 0.0, 1.0]
    assert 100 * sum(values) / 4 == 62.5
    assert sum(value == 1.0 for value in values) / 4 == 0.5


def test_more_than_was_asked_is_cut_to_one_and_flagged() -> None:
    item = product(options={"color": ("red",), "style": ("tea",)}, attributes=("hand made",))
    found = score(goal(item, ("hand made",), ("red",)), item, {"color": "red", "style": "tea"})
    assert (found.value, found.clipped, found.options) == (1.0, True, 2)
    assert not score(goal(item, ("hand made",), ("red",)), item, {"color": "red"}).clipped


@pytest.mark.parametrize(
    ("wanted", "own", "text", "met"),
    [
        ("essential oils", ("essential oil",), "", True),
        ("tea tree", ("tree tea",), "", True),
        ("easy clean", ("easy care",), "", False),
        ("essential oils", (), "This shampoo has Essential Oils in it", True),
        ("gluten free", ("sugar free",), "free of gluten", False),
        ("natural ingredients", (), "", False),
    ],
)
def test_attributes_match_by_likeness_or_in_the_text(wanted: str, own: tuple[str, ...], text: str, met: bool) -> None:
    assert has_attribute(product(attributes=own, features=(text,)), wanted) is met
    assert has_attribute(product(attributes=own, description=text), wanted) is met
    assert has_attribute(product(attributes=own, title=text), wanted) is met


@pytest.mark.parametrize(
    ("value", "colour"),
    [
        ("", ""),
        ("black forest", "black"),
        ("violet lavender", "lavender"),
        ("steelivy fuchsia", "fuchsia"),
        ("123alabaster", "alabaster"),
        ("webshop", "webshop"),
    ],
)
def test_colours_are_made_plain(value: str, colour: str) -> None:
    assert plain_colour(value) == colour


@pytest.mark.parametrize(
    ("wanted", "chosen", "met"),
    [
        (("navy blue",), {"color": "sky blue"}, 1),
        (("cool powder snow", "xl"), {"style": "powder snow", "size": "xl"}, 2),
        (("large",), {"size": "x-large"}, 0),
        (("large",), {"fit": "large x"}, 1),
        (("12 pack",), {"count": "24 pack"}, 1),  # alike by 86 percent: so says the published threshold
        (("12 pack",), {"count": "single"}, 0),
        ((), {"color": "red"}, 0),
        (("red",), {}, 0),
    ],
)
def test_options_match_by_likeness_but_sizes_exactly(wanted: tuple[str, ...], chosen: dict[str, str], met: int) -> None:
    assert met_options(product(), wanted, chosen) == met


def titled(title: str, query: str = "other", path: tuple[str, ...] = ("x", "y")) -> float:
    return type_factor(
        product(title="One Two Three Four Five Six Seven Eight Nine Ten Mug"),
        product(title=title, query=query, path=path),
    )


def test_the_type_factor_has_four_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "trialogue.envs.webshop.scoring.tagger", lambda: nouns.Tagger("all", lambda t: tuple(t.split()))
    )
    assert titled("nothing alike", "mugs") == 0.0
    assert titled("Ten") == 0.1
    assert titled("Ten", "mugs") == 0.1
    assert titled("Nine Ten") == 0.5
    assert titled("Nine Ten", "mugs") == 1.0
    assert titled("Nine Ten", path=("Home", "Kitchen", "Plates")) == 1.0
    assert titled("Nine Ten", path=("Home", "Home", "Garden")) == 0.5
    assert titled("Eight Nine Ten") == 1.0


def test_a_title_without_nouns_is_half_right() -> None:
    assert type_factor(product(title="12 + 3"), product(title="Mug", query="other", path=())) == 0.5


def test_without_a_model_the_word_list_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    nouns.tagger.cache_clear()
    monkeypatch.setattr(nouns, "find_spec", lambda name: None)
    tagger = nouns.tagger()
    assert tagger.name == "word list"
    assert tagger.nouns("3 Pcs Men's Wool Socks, with Grip for the Gym") == (
        "pcs",
        "men",
        "wool",
        "socks",
        "grip",
        "gym",
    )
    nouns.tagger.cache_clear()


def test_with_a_model_its_tags_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    def model(title: str) -> list[SimpleNamespace]:
        tags = {"Red": "ADJ", "Acme": "PROPN", "Mug": "NOUN"}
        return [SimpleNamespace(text=word, pos_=tags[word]) for word in title.split()]

    nouns.tagger.cache_clear()
    monkeypatch.setattr(nouns, "find_spec", lambda name: object())
    monkeypatch.setattr(nouns, "version", lambda name: "1.2")
    monkeypatch.setattr(nouns, "_model", lambda: model)
    tagger = nouns.tagger()
    assert tagger.name == "spacy 1.2 en_core_web_sm 1.2"
    assert tagger.nouns("Red Acme Mug") == ("acme", "mug")
    nouns.tagger.cache_clear()


def test_buying_shows_the_score() -> None:
    session = item_page(product())
    assert session.take("click[buy now]") == ""
    assert session.text == "Your score (min 0.0, max 1.0): 0.5"
    assert session.admissible() == []
    assert "over" in session.take("click[Buy Now]")
