"""What flows through a pipe, as far as one line tells: its text, or at least where it comes from."""

from typing import NamedTuple


class Stream(NamedTuple):
    """Text that is known, or None; origins such as `network` or `decoded`; files whose content is in it; paths that
    it lists, where a part that is not known may stand in them.
    """

    text: str | None = None
    origins: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def passed_on(self) -> "Stream":
        """What comes out of a program that works on it in a way we do not follow."""
        return Stream(None, self.origins, self.paths)

    @property
    def origin(self) -> str:
        """Where it comes from, in one word if that is foreign."""
        foreign = next((word for word in ("network", "decoded") if word in self.origins), "")
        return foreign or ",".join(sorted(self.origins))

    @property
    def carried(self) -> str:
        """What goes with it when it is sent away: files and variables, as the source of an effect."""
        return ",".join((*self.paths, *sorted(self.origins & _CARRIED)))

    def also(self, *origins: str) -> "Stream":
        return self._replace(origins=self.origins | set(origins))

    def without(self, origin: str) -> "Stream":
        return self._replace(origins=self.origins - {origin})


_CARRIED = frozenset("clipboard environment screen secret variable".split())
SILENT = Stream("")
UNSEEN = Stream()
SECRET = Stream(None, frozenset({"secret"}))
"""What a keeper of secrets prints."""


SETTINGS = Stream(None, frozenset({"settings"}))
"""Lines that a program prints for the shell that asked for them."""


def joined(streams: "list[Stream]") -> Stream:
    """The output of several, one after the other."""
    texts = [stream.text for stream in streams]
    return Stream(
        "".join(text for text in texts if text) if None not in texts else None,
        frozenset().union(*(stream.origins for stream in streams)),
        tuple(dict.fromkeys(path for stream in streams for path in stream.paths)),
        tuple(dict.fromkeys(name for stream in streams for name in stream.names)),
    )
