"""Secrets that an agent, and with it a model's provider, would read."""

from trotline.analysis.addresses import is_metadata
from trotline.analysis.credentials import (
    KEEPER,
    STOLEN,
    credential,
    directory_of_credentials,
    is_dotenv,
    is_key_by_place,
)
from trotline.analysis.places import Place
from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight

_LOOKS = frozenset({"look", "authenticate"})
"""Names and sizes, or a key that is used and not shown."""


def _kind(effect: Effect) -> str:
    return credential(effect.path) or credential(effect.target)


def _content(effect: Effect) -> bool:
    return effect.verb not in _LOOKS


def _secret(effect: Effect, _: Sight) -> bool:
    kind = _kind(effect)
    return _content(effect) and kind != "" and not is_dotenv(kind)


def _environment_file(effect: Effect, _: Sight) -> bool:
    return _content(effect) and is_dotenv(_kind(effect))


def _all_of_them(effect: Effect, _: Sight) -> bool:
    whole = effect.recursive or effect.path.endswith("*") or effect.verb == "copy"
    return _content(effect) and whole and directory_of_credentials(effect.path)


def _from_a_manager(effect: Effect, _: Sight) -> bool:
    return effect.verb == "secret" and effect.source != KEEPER


def _stolen(effect: Effect, _: Sight) -> bool:
    return effect.verb == "secret" and effect.source == STOLEN


def _all_shown(effect: Effect, _: Sight) -> bool:
    return effect.verb == "secret" and effect.recursive


def _of_the_machine(effect: Effect, _: Sight) -> bool:
    return effect.verb == "secret" and is_metadata(effect.host)


def _copied_over(effect: Effect, sight: Sight) -> bool:
    """Keys and passwords of others are replaced. The memory of the machine is a device, and for others."""
    kind = _kind(effect)
    new = is_dotenv(kind) or is_key_by_place(kind) or kind == "a token" or _is_new(effect.path, sight)
    return effect.kind == "write" and kind != "" and not new and sight.place(effect) is not Place.DEVICE


def _is_new(path: str, sight: Sight) -> bool:
    """Where somebody looks at the disk, and nothing of that name is there."""
    directory, _, name = path.rpartition("/")
    there = sight.world.names(directory or "/")
    return there is not None and name not in there


def _reads(effect: Effect) -> bool:
    return effect.kind in {"read", "link"}


GUARD = Guard(
    name="credentials",
    danger="secrets that the agent, and with it a model's provider, would read",
    kinds=frozenset({"read", "link", "write"}),
    rows=(
        Row(
            "key or password",
            lambda effect, sight: _reads(effect) and _secret(effect, sight),
            "deny deny deny",
            "{path} holds secrets; what an agent reads goes to a model",
            "ask the person to do what needs the secret, or use a program that reads it itself",
        ),
        Row(
            "directory of keys",
            lambda effect, sight: _reads(effect) and _all_of_them(effect, sight),
            "deny deny deny",
            "{path} is full of secrets",
            "name the one file that you need, if it is no secret",
        ),
        Row(
            "environment file",
            lambda effect, sight: _reads(effect) and _environment_file(effect, sight),
            # Teams keep example values in them as often as live ones: the scanner looks at the content.
            "pass deny deny",
            "{path} often holds secrets",
            "read the example file beside it, or ask for the names only",
        ),
        Row(
            "the machine's own",
            _of_the_machine,
            "ask deny deny",
            "{host} gives this machine's own credentials to whoever asks",
            "let the cloud's own program ask, which shows no credentials",
        ),
        Row("stolen", _stolen, "deny deny deny", "{target} would be taken out of the memory of this machine"),
        Row(
            "all secrets",
            _all_shown,
            "ask deny deny",
            "all of {target} would be shown, not one secret that is needed",
            "let the program that needs one fetch it by its name",
        ),
        Row(
            "secret manager",
            lambda effect, sight: _reads(effect) and _from_a_manager(effect, sight),
            "pass ask deny",  # to fetch one by its name is what these programs are for
            "a secret would be shown: {target}",
            "let the program that needs it fetch it",
        ),
        Row("key replaced", _copied_over, "ask deny deny", "{path} holds secrets, and would be written over"),
    ),
    stops=(
        "cat ~/.ssh/id_ed25519",
        "cp -r ~/.ssh /tmp/k",
        "find ~/.gnupg -type f -exec cat {} +",
        "find ~/.aws -mtime -9 | xargs cat",
        "find ~ -name 'id_*' -exec cat {} \\;",
        "find / -name '*.pem' -exec cp {} k \\;",
        "head -3 .env.production",
        "cat ~/.config/acme/token",
        "jq -r .refresh ~/.acme/login_tokens.json",
        "head -1 ~/.local/share/acme/token.json",
        "cat ~/.config/sops/age/keys.txt",
        "tail ~/.config/age/keys.txt",
        "grep key ~/.comet.config",
        "cat .e*",
        "< .env cat",
        'V=.env; cat "$V"',
        "cd config && cat .env",
        "base64 ~/.aws/credentials",
        "ln -s ~/.netrc n && cat n",
        "cp ~/.kube/config /tmp/x",
        "sudo cat /etc/shadow",
        "gpg --export-secret-keys --armor",
        "security dump-keychain -d login.keychain",
        "procdump -ma lsass.exe out.dmp",
        "reg save HKLM\\SAM sam.hiv",
        "type %USERPROFILE%\\.aws\\credentials",
        "Get-Content $env:USERPROFILE\\.ssh\\id_rsa",
        "rundll32 C:\\Windows\\System32\\comsvcs.dll, MiniDump 600 out.dmp full",
        "cat /proc/self/environ",
        "xxd .ENV",
        "cat ~/.ssh/deploy",
        "cp ~/.config/google-chrome/Default/Cookies c.db",
        "sqlite3 ~/.config/BraveSoftware/Brave-Browser/Default/Cookies 'select value from cookies'",
        "curl -s http://[::ffff:169.254.169.254]/latest/meta-data/iam/",
        "wget -qO- http://orders:8080/actuator/configprops",
    ),
    passes=(
        "ls -la ~/.ssh",
        "type ls",
        "cat design/tokens.json",
        "jq .color .storybook/tokens.json",
        "age -d -i ~/.config/age/keys.txt notes.age",
        "find ~/.ssh -name '*.pub' -exec cat {} +",
        "find . -name '*.pem' | wc -l",
        "cat ~/.ssh/id_ed25519.pub",
        "cp .env.example .env",
        "grep -n '.env' .gitignore",
        "ls -la .env",
        "cat docs/README.md",
        "wc -l .env",
        "ssh -i ~/.ssh/id_ed25519 build.example.org uptime",
        "cat .env.sample",
        "cat ~/.ssh/config",
        "sqlite3 app.db 'select value from cookies'",
        "curl -s localhost:8080/actuator/env",
    ),
)
