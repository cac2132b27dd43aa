"""Sentences, frozen pages and where they are read from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialogue.envs.wiki.browser import NO_MORE, Browser
from trialogue.envs.wiki.corpus import Corpus
from trialogue.envs.wiki.pages import Page, PageSource, split_sentences, title_key
from trialogue.envs.wiki.sources import open_source
from trialogue.errors import DataError

ODD = r"The path C:\users\new and the token \u00e9 appear; so does café."


def corpus(*titles: str) -> Corpus:
    return Corpus(Page(title, (f"About {title}.",)) for title in titles)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("First line\nsecond line. Third.", ["First line", "second line.", "Third."]),
        ("Dr. May met J. R. Ward in St. Ives. They left.", ["Dr. May met J. R. Ward in St. Ives.", "They left."]),
        ('He said "No." She left.', ['He said "No."', "She left."]),
        ("The U.S. Navy has 3.5 ships. 14 sank.", ["The U.S. Navy has 3.5 ships.", "14 sank."]),
        ("It was big. and it went on.", ["It was big. and it went on."]),
        ("Straße endet. Überall Äpfel.", ["Straße endet.", "Überall Äpfel."]),
        (ODD, [ODD]),
        ("\x00\x07 stays. \x1f Too\u2028.", ["\x00\x07 stays. \x1f Too\u2028."]),
        ("", []),
        (" \n\t\n", []),
    ],
)
def test_text_becomes_sentences(text: str, sentences: list[str]) -> None:
    assert list(split_sentences(text)) == sentences


@given(st.text(st.sampled_from("aA. !?\n\t\"'()é\\u1\x00\x1f"), max_size=80))
def test_splitting_loses_nothing_but_white_space(text: str) -> None:
    sentences = split_sentences(text)
    assert "".join("".join(sentences).translate(BLANK)) == text.translate(BLANK)
    assert all(sentence.strip(" \t\r\n") for sentence in sentences)


BLANK = {ord(c): None for c in " \t\r\n"}


def test_a_long_text_is_split_in_time() -> None:
    assert len(split_sentences("A. " * 100_000)) == 1
    assert len(split_sentences("Ab. " * 100_000)) == 100_000


def test_exact_titles_come_before_tolerant_ones() -> None:
    pages = corpus("Mercury", "MERCURY", "Émile Zola", "The Beach (film)")
    for asked, found in [
        ("Mercury", "Mercury"),
        ("MERCURY", "MERCURY"),
        ("mercury", "MERCURY"),
        ("emile  zola", "Émile Zola"),
        ("the_beach_(FILM)", "The Beach (film)"),
    ]:
        page = pages.page(asked)
        assert page is not None
        assert page.title == found
    assert pages.page("Venus") is None
    assert pages.page("") is None


def test_similar_titles_are_ranked_alike_whatever_the_order() -> None:
    titles = ["The Beach Boys", "Beach", "The Beach (film)", "Breach of contract", "Mountain", "Ocean"]
    forwards, backwards = corpus(*titles), corpus(*reversed(titles))
    for query in ("The Beach", "beech", "Oceans", "of", "zzz", ""):
        assert forwards.similar(query) == backwards.similar(query)
    assert set(forwards.similar("The Beach")[:3]) == {"The Beach Boys", "Beach", "The Beach (film)"}
    assert forwards.similar("Oceans")[0] == "Ocean"
    assert forwards.similar("Montain")[0] == "Mountain"
    assert forwards.similar("東京") == ()
    assert len(corpus(*(f"River {n}" for n in range(50))).similar("River")) == 5


def test_an_empty_corpus_answers() -> None:
    empty = Corpus([])
    assert (empty.page("x"), tuple(empty.similar("x")), len(empty)) == (None, (), 0)
    assert isinstance(empty, PageSource)


def test_the_fingerprint_follows_the_text_and_not_the_order() -> None:
    assert corpus("A", "B").fingerprint() == corpus("B", "A").fingerprint()
    assert corpus("A", "B").fingerprint() != corpus("A", "C").fingerprint()
    assert Corpus([Page("A", ("x.",))]).fingerprint() != Corpus([Page("A", ("y.",))]).fingerprint()


def test_search_shows_five_sentences_and_lookup_steps_through_the_rest() -> None:
    sentences = tuple(f"Sentence {n} has a {'Key' if n % 3 == 0 else 'stone'}." for n in range(1, 10))
    browser = Browser(Corpus([Page("Stones", sentences), Page("Bricks", ("One key.",))]))
    assert browser.search("stones") == " ".join(sentences[:5])
    assert browser.lookup("key") == f"(Result 1 / 3) {sentences[2]}"
    assert browser.lookup("KEY") == f"(Result 2 / 3) {sentences[5]}"
    assert browser.search("Nowhere").startswith("Could not find [Nowhere]. Similar: [")
    assert browser.lookup("key") == f"(Result 3 / 3) {sentences[8]}"
    assert [browser.lookup("key"), browser.lookup("key")] == [NO_MORE, NO_MORE]
    assert browser.lookup("stone") == f"(Result 1 / 6) {sentences[0]}"
    assert browser.lookup("key") == f"(Result 1 / 3) {sentences[2]}"
    assert browser.lookup("absent") == NO_MORE
    browser.search("Bricks")
    assert browser.lookup("key") == "(Result 1 / 1) One key."


def test_odd_text_passes_through_unharmed(tmp_path: Path) -> None:  # QA-09
    path = tmp_path / "pages.jsonl"
    odd = f"{ODD} \x00\x1b[31m %s {{0}} \ud7ff"
    path.write_text(json.dumps({"title": "Odd", "text": odd}) + "\n", encoding="utf-8")
    browser = Browser(open_source(path))
    assert browser.search("Odd") == odd
    assert browser.lookup("\\u00e9") == f"(Result 1 / 1) {odd}"


def test_pages_are_read_from_lines_files_and_folders(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"title": "Text", "text": "One. Two."},
        {"title": "List", "sentences": [" One.", "Two. ", ""]},
        {"title": "Abstract", "text": ["One.", " Two."]},
        {"id": "Soul_Food_-LRB-film-RRB-", "text": "", "lines": "0\tOne -LRB-1-RRB- .\tFilm\tfilm\n1\tTwo .\n2\t"},
    ]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (tmp_path / "Plain page.txt").write_text("One.\nTwo.\n", encoding="utf-8")
    source = open_source(tmp_path)
    found = {title: source.page(title) for title in ("Text", "List", "Abstract", "Plain page", "Soul Food (film)")}
    assert {page.sentences for page in found.values() if page} == {("One.", "Two."), ("One (1) .", "Two .")}
    assert None not in found.values()
    assert open_source(str(tmp_path)).fingerprint() == source.fingerprint()
    (tmp_path / "New.txt").write_text("Three.", encoding="utf-8")
    assert open_source(tmp_path).page("New") is not None


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("x.jsonl", "{", "cannot be read as JSON lines"),
        ("x.jsonl", "[1]", "cannot be read as JSON lines"),
        ("x.jsonl", '{"title": "A"}', "x.jsonl:1: expected title and sentences"),
        ("x.json", "{", "cannot be read as JSON"),
        ("x.json", '{"A": 1}', "neither HotpotQA questions"),
        ("x.json", "[1]", "row 0: expected a context"),
        ("x.json", '[{"context": {"title": []}}]', "row 0: expected a context"),
        ("x.json", '{"A": "Could not find A. Similar: [A]."}', "lists similar titles in no readable way"),
        ("x.csv", "a,b", "no file of pages"),
    ],
)
def test_broken_pages_are_refused_with_their_place(tmp_path: Path, name: str, content: str, complaint: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=complaint):
        open_source(path)


def test_missing_pages_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no pages at"):
        open_source(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no pages in"):
        open_source(tmp_path)


def test_recorded_searches_answer_as_they_did(tmp_path: Path) -> None:
    path = tmp_path / "searches.json"
    records = {
        "The Beach": "Could not find [The Beach]. Similar: ['On the Beach', \"It's Beach (redirect from B)\"].",
        "On the Beach": "Pages for logged out editors learn more. On the Beach is a novel. It is long.. The end...",
    }
    path.write_text(json.dumps(records), encoding="utf-8")
    browser = Browser(open_source(path))
    assert browser.search("the beach") == "Could not find [the beach]. Similar: ['On the Beach', \"It's Beach\"]."
    assert browser.search("On the beach") == "On the Beach is a novel. It is long. The end..."
    assert browser.search("Beaches") == "Could not find [Beaches]. Similar: ['On the Beach']."


def test_real_recorded_searches(test_data: Path) -> None:
    path = test_data / "fever" / "recorded_searches.json"
    source = open_source(path)
    records: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    for asked, observation in records.items():
        page = source.page(asked)
        if observation.startswith("Could not find"):
            assert all(title in observation for title in source.similar(asked))
        else:
            assert page is not None
            assert page.sentences
            assert not any("logged out editors" in sentence for sentence in page.sentences)


def test_title_keys_forget_case_accents_and_blanks() -> None:
    assert title_key("  Émile_ZOLA ") == "emile zola"
    assert title_key("STRASSE") == title_key("straße")
