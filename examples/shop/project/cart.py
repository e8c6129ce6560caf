"""The cart. Prices are cents, a discount is a percentage."""


def total(prices: list[int], discount: int = 0) -> int:
    """What the customer pays."""
    return int(sum(prices) * (100 - discount) / 100)
