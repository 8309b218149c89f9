"""A hundred thousand rollouts: there at once, filtered in a moment, in little memory."""

from provegym.bench_view import measure_view


def test_a_hundred_thousand_rollouts_are_quick_and_small() -> None:
    figures = measure_view()
    assert figures["view_rollouts"] == 100_000
    assert figures["view_first_rows"] == 100
    assert figures["view_first_rows_ms"] <= 2_000
    assert figures["view_filter_ms_p50"] <= 200
    assert figures["view_memory_mb"] <= 500
