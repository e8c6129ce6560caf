"""Of many times or sizes, what so many in a hundred do not exceed."""


def percentiles(values: list[int]) -> dict[str, int]:
    return {"calls": len(values), **{f"p{share}": percentile(values, share) for share in (50, 95, 99)}}


def percentile(values: list[int], share: int) -> int:
    """The least of them that so many in a hundred do not exceed."""
    return sorted(values)[max(0, -(-len(values) * share // 100) - 1)]
