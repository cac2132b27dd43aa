"""The pages of the shop: what they say, what can be clicked, and what is refused and why."""

from __future__ import annotations

import html

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from webshop_samples import goal, item_page, mugs, product, visit

from trialogue.envs.webshop.catalogue import Shop
from trialogue.envs.webshop.session import LONGEST_QUERY, Session, plain, suggestions

MUG = product(
    options={"color": ("red", "navy blue"), "size": ("8 oz", "12 oz")},
    description="A mug that keeps its handle.",
    features=("Dishwasher safe.", "Made of clay."),
    attributes=("dishwasher safe",),
    reviews=('"Good" 5.0: I like it.',),
    rating="4.5",
)

SEARCH = "WebShop\nInstruction:\nfind me a mug\n[Search]"
RESULTS = "[Back to Search]\nPage 1 (Total results: 1)\n[B000000001]\nAlderway Mug for Tea\n$20.00"
ITEM = """[Back to Search]
[< Prev]
color [red][navy blue]
size [8 oz][12 oz]
Alderway Mug for Tea
Price: $20.00
Rating: 4.5
[Description]
[Features]
[Reviews]
[Attributes]
[Buy Now]"""
PART = "[Back to Search]\n[< Prev]\n"


def fifteen() -> Session:
    shop = mugs(15)
    session = Session(shop, goal(shop.products[0]), page_size=10)
    assert session.take("search[mug]") == ""
    return session


def asins(session: Session) -> list[str]:
    return [command for command in session.admissible() if command.startswith("click[B0")]


def test_the_pages_read_as_in_the_papers_prompts() -> None:
    session = visit(MUG)
    assert session.text == SEARCH
    walk = {
        "search[mug]": RESULTS,
        "click[B000000001]": ITEM,
        "click[Description]": PART + "A mug that keeps its handle.",
        "click[< Prev]": ITEM,
        "click[Features]": PART + "Dishwasher safe.\nMade of clay.",
        "click[<  prev]": ITEM,
        "click[Reviews]": PART + '"Good" 5.0: I like it.',
        "CLICK[< PREV]": ITEM,
        "click[attributes]": PART + "dishwasher safe",
        "click[&lt; Prev]": ITEM,
        "click[navy blue]": "You have clicked navy blue.",
        "click[Back to Search]": SEARCH,
    }
    for command, page in walk.items():
        assert (session.take(command), session.text) == ("", page)


def test_a_chosen_value_is_marked_and_kept_until_the_item_is_left() -> None:
    session = item_page(MUG)
    for command in ("click[red]", "click[12 oz]", "click[8 oz]", "click[Features]", "click[< Prev]"):
        assert session.take(command) == ""
    assert "color [[red]][navy blue]\nsize [[8 oz]][12 oz]" in session.text
    session.take("click[< Prev]")
    session.take("click[B000000001]")
    assert session.text == ITEM


def test_buttons_that_do_not_exist_change_nothing() -> None:
    """SHOP-01."""
    session = item_page(MUG)
    before = session.admissible()
    for action in ("click[Add to Cart]", "fill out form[name: A. Person, city: Anytown]"):
        why = session.take(action)
        assert "click[Buy Now]" in why
        assert (session.text, session.admissible(), session.score) == (ITEM, before, None)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("search[tea]", "click[Back to Search]"),
        ("click[dscription]", "the nearest is click[Description]"),
        ("click[12oz]", "the nearest is click[12 oz]"),
        ("click buy now", "the nearest is click[Buy Now]"),
        ("click[Next >]", "there is no 'Next >'"),
        ("click[]", "possible are"),
        ("", "commands are: search[{query}], click[{element}]"),
    ],
)
def test_a_refusal_says_why_and_what_is_near(command: str, said: str) -> None:
    assert said in item_page(MUG).take(command)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("search[]", "empty"),
        ("search[  ]", "empty"),
        ("search[a\nb]", "one line"),
        ("search[\x00]", "control characters"),
        (f"search[{'mug ' * 300}]", f"at most {LONGEST_QUERY}"),
        ("click[Search]", "search[{query}]"),
        ("mug", "search[find me a mug]"),
    ],
)
def test_the_search_page_says_what_a_search_may_be(command: str, said: str) -> None:
    session = visit(MUG)
    assert said in session.take(command)
    assert session.text == SEARCH


def test_leafing_through_the_results() -> None:
    """SHOP-10: the last page has no next one, and saying &gt; is saying >."""
    session = fifteen()
    first = (session.text, len(asins(session)))
    assert first[1] == 10
    assert session.take("click[Next >]") == ""
    assert session.text.startswith("[Back to Search]\n[< Prev]\nPage 2 (Total results: 15)\n[B0")
    assert len(asins(session)) == 5
    second = session.text
    assert session.take("click[next &gt;]").startswith("page 2 is the last one")
    assert session.text == second
    assert session.take("click[< Prev]") == ""
    assert (session.text, len(asins(session))) == first
    assert session.take("click[< prev]").startswith("page 1 is the first one")
    assert session.take("click[next &gt;]") == ""
    assert session.text == second


def test_from_an_item_the_way_back_leads_to_its_page_of_results() -> None:
    session = fifteen()
    session.take("click[Next >]")
    second = session.text
    session.take(asins(session)[0])
    assert session.take("click[< Prev]") == ""
    assert session.text == second


def test_a_search_that_finds_nothing_says_so() -> None:
    session = visit(MUG)
    assert session.take("search[заварник 茶壺 !]") == ""
    assert session.text == "[Back to Search]\nPage 1 (Total results: 0)"
    assert session.admissible() == ["click[Back to Search]"]


def test_equally_good_results_keep_the_shops_order() -> None:
    twins = [product(f"B00000000{n}", "Plain Mug") for n in (3, 1, 2)]
    assert [found.asin for found in Shop(twins).search("mugs")] == ["B000000003", "B000000001", "B000000002"]


def test_search_ranks_by_words_and_finds_other_forms_of_them() -> None:
    shop = Shop([product("B1", "Tea Kettle"), product("B2", "Running Shoes"), product("B3", "Shoe Rack for Runners")])
    assert [found.asin for found in shop.search("the run shoes")] == ["B2", "B3"]


def test_a_label_that_two_choices_share_can_be_told_apart_by_its_name() -> None:
    item = product(options={"fit": ("small", "large"), "size": ("small", "features")})
    session = item_page(item)
    commands = session.admissible()
    assert commands.count("click[small]") == 1
    assert {"click[size: small]", "click[size: features]", "click[large]"} <= set(commands)
    for command in ("click[small]", "click[size: small]"):
        assert session.take(command) == ""
    session.take("click[features]")
    session.take("click[< Prev]")
    assert "fit [[small]][large]\nsize [[small]][features]" in session.text


@pytest.mark.parametrize("value", ['28" x 28"', "a [b]", "[x", "y]", "&gt; 5 cm", "l'été | hiver", "r&amp;b", "ÄRGER"])
def test_option_text_of_every_kind_works(value: str) -> None:
    for said in (value, value.upper(), html.escape(value), f"  {value} ", f"style: {value}"):
        session = item_page(product(options={"style": (value, "other")}))
        assert f"click[{value}]" in session.admissible()
        assert session.take(f"click[{said}]") == "", said
        assert session.text == f"You have clicked {value}."


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc",)), min_size=1))
def test_any_option_text_can_be_clicked_as_it_is_listed(value: str) -> None:
    assume(plain(value))
    session = item_page(product(options={"style": ("first", value)}))
    listed = session.admissible()[3]
    assert session.take(listed) == "" or plain(value) == "first"
    session = item_page(product(options={"style": (value,)}))
    assert session.take(f"click[style: {html.escape(value)}]") == ""


@given(st.lists(st.text() | st.from_regex(r"(search|click)\[.*\]"), max_size=6))
def test_no_text_breaks_a_visit(commands: list[str]) -> None:
    session = item_page(MUG)
    for command in commands:
        before = session.text, session.admissible()
        why = session.take(command)
        assert session.text
        if why:
            assert (session.text, session.admissible()) == before
            assert session.refusal(command) == why


def test_suggestions_are_the_goals_own_words() -> None:
    assert suggestions(
        "Find me a rug with soft pile with color: red, and size: 3 m, and price lower than 40.00 dollars"
    ) == [
        "Find me a rug with soft pile with color: red, and size: 3 m",
        "Find me a rug with soft pile",
    ]
    assert suggestions("find me a mug") == ["find me a mug"]
