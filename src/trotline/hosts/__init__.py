"""One file per product that raises events. A product is named in its own file and in this table, nowhere else."""

HOSTS: dict[str, str] = {
    "cursor": "trotline.hosts.cursor",
    "claude-code": "trotline.hosts.claude_code",
}
