"""The service as a unit of systemd or an agent of launchd, for people who want it to be there before the first call."""

import sys
from pathlib import Path
from xml.sax.saxutils import escape

LABEL = "trotline"

SYSTEMD = """\
[Unit]
Description=Trotline answers calls of coding agents

[Service]
ExecStart={line}
Restart=always
RestartSec=2
UMask=0077
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""

LAUNCHD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{label}</string>
  <key>ProgramArguments</key>
  <array>
{words}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <true/>
  <key>Umask</key>
  <integer>63</integer>
</dict>
</plist>
"""


def systemd_unit(home: Path | None) -> str:
    """For `~/.config/systemd/user/trotline.service`."""
    return SYSTEMD.format(line=" ".join(_quoted(word) for word in _words(home)))


def launchd_plist(home: Path | None) -> str:
    """For `~/Library/LaunchAgents/trotline.plist`."""
    words = "\n".join(f"    <string>{escape(word)}</string>" for word in _words(home))
    return LAUNCHD.format(label=LABEL, words=words)


def _words(home: Path | None) -> list[str]:
    moved = ["--home", str(home)] if home is not None else []
    return [sys.executable, "-I", "-m", "trotline", "service", "run", "--idle", "0", *moved]


def _quoted(word: str) -> str:
    """systemd has its own rules: `%` and `$` mean something, quotes hold words together."""
    text = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{text}"' if set(text) & set(" \t\"'\\;") else text
