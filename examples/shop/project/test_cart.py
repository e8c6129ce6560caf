"""What the customer pays is rounded as the customer rounds."""

import unittest

import cart  # type: ignore[import-not-found]  # it stands beside this file when the tests run


class TestTotal(unittest.TestCase):
    def test_prices_add_up(self) -> None:
        assert cart.total([100, 250]) == 350

    def test_most_of_a_cent_is_a_cent(self) -> None:
        assert cart.total([333], discount=10) == 300

    def test_half_a_cent_is_a_cent(self) -> None:
        assert cart.total([5], discount=50) == 3


if __name__ == "__main__":
    unittest.main()
