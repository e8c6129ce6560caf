"""Of many times or sizes, what so many in a hundred do not exceed."""

SHARES = {"p50": 50, "p95": 95, "p99": 99}


def percentiles(amounts: list[int]) -> dict[str, int]:
    """The least of them that so many do not exceed."""
    listed = sorted(amounts)
    shares = {name: listed[-(-len(listed) * share // 100) - 1] for name, share in SHARES.items()}
    return {"count": len(listed), **shares}
