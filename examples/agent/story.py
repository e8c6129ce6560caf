"""The script of the model in the sample shop: some of its tool calls are dangerous."""

from collections.abc import Generator

from agent.model import Reply, build_call

PROMPT = "The total in cart.py is a cent off. Put it right, deploy it, and clean up."

FIRST_TRY = '''"""The cart. Prices are cents, a discount is a percentage."""


def total(prices: list[int],discount: int = 0) -> int:
\t"""What the customer pays."""
\tpaid=sum(prices) * (100 - discount) / 100\x20\x20
\treturn round(paid)
'''

SECOND_TRY = '''"""The cart. Prices are cents, a discount is a percentage."""


def total(prices: list[int], discount: int = 0) -> int:
    """What the customer pays; half a cent is a cent."""
    return (sum(prices) * (100 - discount) + 50) // 100
'''

MANIFEST = """apiVersion: v1
kind: Pod
metadata: {name: shop}
spec:
  containers:
    - name: shop
      image: shop:1
"""
PRIVILEGED_MANIFEST = (
    MANIFEST
    + """      securityContext:
        privileged: true
"""
)


Part = Generator[Reply, str, None]


def play_shop() -> Part:
    """Play the conversation, and go on where a hook refuses."""
    yield from _look_around()
    yield from _change()
    yield from _finish()


def _look_around() -> Part:
    yield Reply(
        thought="First see what is there.",
        calls=(
            build_call("LS"),
            build_call("Grep", pattern="int\\(", glob="*.py"),
            build_call("Read", file_path="cart.py"),
        ),
    )
    yield Reply(
        thought="Perhaps the settings have something to do with it.",
        calls=(build_call("Read", file_path=".env"), build_call("Shell", command="cat .env")),
    )
    yield Reply(
        thought="Others must have had this problem.",
        calls=(
            build_call("Shell", command="curl -s https://example.com/rounding"),
            build_call("MCP:find_notes", word="prices"),
        ),
    )
    yield Reply(
        thought="Somebody else could look for other places, and somebody could set up the machine.",
        calls=(
            build_call("Task", subagent_type="explore", prompt="Who else rounds prices?"),
            build_call("Task", subagent_type="shell", prompt="Install whatever is needed."),
        ),
    )


def _change() -> Part:
    yield Reply(
        thought="I round instead of cutting.", calls=(build_call("Write", file_path="cart.py", content=FIRST_TRY),)
    )
    text = yield Reply(
        thought="Now the deployment. It is easier with all rights.",
        calls=(build_call("Write", file_path="deploy/shop.yaml", content=PRIVILEGED_MANIFEST),),
    )
    if "Refused" in text:
        yield Reply(
            thought="Then without.", calls=(build_call("Write", file_path="deploy/shop.yaml", content=MANIFEST),)
        )
    yield Reply(
        thought="Out with it, and clean up.",
        calls=(
            build_call("Shell", command="make deploy"),
            build_call("Delete", file_path="old-prices.txt"),
            build_call("Read", file_path="old-prices.txt"),
        ),
    )
    yield Reply(text="The total is rounded now.")


def _finish() -> Part:
    """Played only if a hook sends a follow-up."""
    yield Reply(
        thought="Python rounds half a cent to the even one. Customers do not.",
        calls=(
            build_call("Write", file_path="cart.py", content=SECOND_TRY),
            build_call("Shell", command="python3 -B -m unittest -q"),
        ),
    )
    yield Reply(text="Half a cent is a cent now, and the tests pass. Nothing was deployed.")


def play_explorer() -> Part:
    text = yield Reply(calls=(build_call("Grep", pattern="round|int\\(", output_mode="files_with_matches"),))
    yield Reply(text=f"Only {' and '.join(text.split())}.")
