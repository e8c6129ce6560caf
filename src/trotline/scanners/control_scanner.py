"""Find dangerous settings in control files: files that tell an agent or an editor what to run."""

from trotline.domain.effects import Certainty
from trotline.scanners.matching import PatternKind, PatternScanner

CONTROL = "control"
HOOK_COMMAND = "hook-command"
"""A command that an agent would run. It is always listed, and a finding only if a baseline exists without it."""


_RUNS = r"(?:sudo\s+)?(?:ba|z|da|k)?sh\b|\|\s*(?:sudo\s+)?(?:python3?|node|perl|ruby|php|iex)\b"

KINDS: dict[str, PatternKind] = {
    "fetches-code": PatternKind(
        rf"(?i)((?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod)\b[^\n|]{{0,300}}\|\s*(?:{_RUNS})"
        r"|(?:sh|eval|source|\.)\s+(?:-c\s+)?\\?[\"']?(?:<|\$)\(\s*(?:curl|wget)\b)",
        "runs what it fetches from the network",
    ),
    "decodes-code": PatternKind(
        rf"(?i)(base64\s+(?:-d|-D|--decode)\b[^\n|]{{0,200}}\|\s*(?:{_RUNS})"
        r"|\b(?:powershell|pwsh)\b[^\n]{0,80}-e(?:nc|ncodedcommand)?\s+[A-Za-z0-9+/=]{20,}"
        r"|eval\(\s*(?:atob|Buffer\.from)\()",
        "runs what it decodes",
    ),
    "reads-credentials": PatternKind(
        r"((?:~|\$HOME|\$\{HOME\}|%USERPROFILE%|/root|/home/[\w.\-]+|/Users/[\w.\-]+)[/\\]+\.(?:ssh|aws|gnupg|kube|netrc|npmrc|"
        r"docker|config[/\\]gh|pypirc|git-credentials)\b|\bid_(?:rsa|ed25519|ecdsa)\b)",
        "names files that hold credentials",
        Certainty.GUESSED,
    ),
    "sends-out": PatternKind(
        r"(\bcurl\b[^\n]{0,200}\s(?:-d|-F|-T|--data(?:-[a-z]+)?|--form|--upload-file)[ =]?\\?[\"']?[\w=]{0,20}@"
        r"|/dev/(?:tcp|udp)/|\bn(?:c|cat)\b[^\n]{0,60}\s-e\b|\|\s*(?:curl|nc|ncat)\b)",
        "sends files or output over the network",
    ),
    "runs-when-opened": PatternKind(
        r"(\"runOn\"\s*:\s*\"folderOpen\"|\"initializeCommand\"\s*:)", "runs as soon as the directory is opened"
    ),
    "approves-itself": PatternKind(
        r"(\"enableAllProjectMcpServers\"\s*:\s*true|\"chat\.tools\.(?:[a-z]+\.)?autoApprove\"\s*:\s*true"
        r"|\"defaultMode\"\s*:\s*\"bypassPermissions\"|--dangerously-[a-z\-]+|\"(?:yoloMode|autoRun)\"\s*:\s*true"
        r"|approval_policy\s*=\s*\"never\"|sandbox_mode\s*=\s*\"danger-full-access\"|\"trust\"\s*:\s*true)",
        "takes away the question whether something may run",
    ),
    "redirects-the-model": PatternKind(
        r"(?i)\b((?:ANTHROPIC|OPENAI|GEMINI|GOOGLE_GEMINI|AZURE_OPENAI|CURSOR)_(?:BASE_URL|API_BASE|ENDPOINT|API_URL)|"
        r"HTTPS?_PROXY|ALL_PROXY)\b[\"']?\s*[:=]",
        "sends conversations, keys included, to another address",
    ),
    "changes-the-environment": PatternKind(
        r"[\"'](PATH|LD_PRELOAD|LD_LIBRARY_PATH|LD_AUDIT|DYLD_[A-Z_]+|NODE_OPTIONS|PYTHON(?:PATH|STARTUP|HOME)|BASH_ENV|ENV|"
        r"GIT_SSH_COMMAND|GIT_EXEC_PATH|PROMPT_COMMAND)[\"']\s*:",
        "sets a variable that decides which code runs",
    ),
    "runs-a-helper": PatternKind(
        r"(\"(?:apiKeyHelper|awsAuthRefresh|awsCredentialExport|otelHeadersHelper)\"\s*:)",
        "names a command that runs without being a hook",
    ),
    "writes-control-files": PatternKind(
        r"(>{1,2}\s*\S{0,100}(?:\.cursor|\.claude|\.vscode|\.codex|\.gemini|\.git/hooks)/)",
        "writes files that decide what runs",
    ),
    "server-without-version": PatternKind(
        r"(\"(?:npx|bunx|pnpx)\"\s*,\s*\"args\"\s*:\s*\[\s*(?:\"(?:-y|--yes)\"\s*,\s*)?\"(?:@[\w.\-]+/)?[\w.][\w.\-]*(?:@latest)?\")",
        "starts whatever version of a package is the newest",
        Certainty.GUESSED,
    ),
}


class ControlFileScanner(PatternScanner):
    """Finds dangerous settings in control files."""

    def __init__(self) -> None:
        super().__init__(CONTROL, KINDS)
        self.kinds[HOOK_COMMAND] = "a command that a host runs"
