from partstream.tokens import NO_TOKENS, CountSource, TokenCount
from rows import one_test_for

REPORTED, COUNTED, ESTIMATED = (TokenCount(number, source) for number, source in enumerate(CountSource, 1))


@one_test_for(
    ("terms", "source"),
    [
        ((REPORTED, REPORTED), CountSource.REPORTED),
        ((REPORTED, COUNTED), CountSource.COUNTED),
        ((ESTIMATED, REPORTED), CountSource.ESTIMATED),
        ((COUNTED, ESTIMATED, REPORTED), CountSource.ESTIMATED),
        ((COUNTED,), CountSource.COUNTED),
        ((), CountSource.REPORTED),
    ],
)
def test_a_sum_is_as_sure_as_its_least_sure_term(terms: tuple[TokenCount, ...], source: CountSource) -> None:
    assert sum(terms, NO_TOKENS) == TokenCount(sum(term.tokens for term in terms), source)
