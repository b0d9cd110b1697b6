"""Topic patterns match what Python's regular expressions match, refuse the same nonsense, and are never slow."""

import contextlib
import re
import warnings

from hypothesis import example, given
from hypothesis import strategies as st

from goqueue.core.groups.assignment.pattern import LONGEST_PATTERN, TopicPattern
from goqueue.errors import InvalidRequest

LETTERS = "ab.-_1"
names = st.text(LETTERS, max_size=8)
atoms = st.sampled_from(
    ["a", "b", "1", "_", "-", ".", r"\.", r"\d", r"\w", r"\D", r"\W", r"\-", "[ab]", "[^a]", "[a-c.]", "[]a]", r"[\d-]"]
)
counts = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(sorted)
quantifiers = st.one_of(
    st.sampled_from(["", "*", "+", "?", "*?", "+?", "??", "{2}", "{0}", "{1,}"]),
    counts.map(lambda bounds: f"{{{bounds[0]},{bounds[1]}}}"),
)


def compound(inner):
    sequences = st.lists(inner, max_size=3).map("".join)
    groups = st.tuples(st.sampled_from(["(", "(?:"]), sequences, quantifiers).map(lambda p: f"{p[0]}{p[1]}){p[2]}")
    return sequences | groups | st.tuples(inner, inner).map(lambda p: f"({p[0]}|{p[1]})")


patterns = st.recursive(st.tuples(atoms, quantifiers).map("".join), compound, max_leaves=8)


@given(pattern=patterns, some=st.lists(names, max_size=8))
@example("(a*)*b", ["aab", "b", "aa"])
@example("((a|b){2,3}|){0,2}1?", ["abab1", "", "ab", "a1"])
@example("^orders.*$", ["orders"])
def test_a_pattern_matches_whole_names_as_a_regular_expression_does(pattern, some):
    compiled = TopicPattern(pattern)
    for name in some:
        assert compiled.matches(name) is bool(re.fullmatch(pattern, name)), (pattern, name)


@given(text=st.text("ab^$.*+?{}[]()|\\,-1d:", max_size=12))
@example("((()))")
@example("a\\\\$")
@example("[]")
@example("a**")
def test_a_text_that_is_accepted_as_a_pattern_is_one_and_means_the_same(text):
    try:
        compiled = TopicPattern(text)
    except InvalidRequest as error:
        assert error.hint
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # re wonders about [[ and --, which mean what they say here
        expected = re.compile(text)
    for name in ("", "a", "ab", "aab", "b", "a.b", "1", "-", "a-1", "d", "aaaa"):
        assert compiled.matches(name) is bool(expected.fullmatch(name)), (text, name)


@given(text=st.text(max_size=LONGEST_PATTERN + 5), name=st.text(max_size=5))
def test_any_text_is_a_pattern_or_an_invalid_request(text, name):
    with contextlib.suppress(InvalidRequest):
        TopicPattern(text).matches(name)
