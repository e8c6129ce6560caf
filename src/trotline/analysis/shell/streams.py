"""Data that flows through pipes and files: its text if known, and its origin."""

from typing import NamedTuple


class Stream(NamedTuple):
    """Known text or None, origins such as `network` or `decoded`, files that it comes from, and paths that it lists."""

    text: str | None = None
    origins: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    listed_paths: tuple[str, ...] = ()

    def drop_text(self) -> "Stream":
        """Return the output of a program that changes this stream in an unknown way."""
        return Stream(None, self.origins, self.paths)

    @property
    def origin(self) -> str:
        """The origin in one word; `network` and `decoded` come first."""
        foreign = next((word for word in ("network", "decoded") if word in self.origins), "")
        return foreign or ",".join(sorted(self.origins))

    @property
    def effect_source(self) -> str:
        """Files and other origins in this stream, as the source of an effect that sends it."""
        return ",".join((*self.paths, *sorted(self.origins & _SENT_ORIGINS)))

    def add_origins(self, *origins: str) -> "Stream":
        """Return the stream with more origins."""
        return self._replace(origins=self.origins | set(origins))

    def remove_origin(self, origin: str) -> "Stream":
        """Return the stream without an origin."""
        return self._replace(origins=self.origins - {origin})


_SENT_ORIGINS = frozenset("clipboard environment screen secret variable".split())
EMPTY_STREAM = Stream("")
UNKNOWN_STREAM = Stream()
SECRET_STREAM = Stream(None, frozenset({"secret"}))
"""The output of a secret manager."""


SHELL_SETUP = Stream(None, frozenset({"settings"}))
"""Shell setup that a program prints, as `ssh-agent -s` does."""


def join_streams(streams: "list[Stream]") -> Stream:
    """Return the concatenation of streams."""
    texts = [stream.text for stream in streams]
    return Stream(
        "".join(text for text in texts if text) if None not in texts else None,
        frozenset().union(*(stream.origins for stream in streams)),
        tuple(dict.fromkeys(path for stream in streams for path in stream.paths)),
        tuple(dict.fromkeys(name for stream in streams for name in stream.listed_paths)),
    )
