"""Files that hold secrets, known by where they are and what they are called."""

import fnmatch
import posixpath

from trotline.analysis.patterns import Patterns
from trotline.analysis.step import GAP
from trotline.pattern import pattern

KEEPER = "keeper"
"""The source of a secret that a program for secrets shows: what it is there for, other than a cloud that shows keys."""

STOLEN = "stolen"
"""The source of secrets that no program has any business with, taken out of the memory of another."""

_BY_PATH = {
    "a key": "*/.ssh/id_* */.ssh/*_rsa */.ssh/*_ed25519 */.ssh/*.pem */.ssh/identity /etc/ssh/ssh_host_*_key"
    " */.gnupg/private-keys-v1.d* */.gnupg/secring* */.ssh/google_compute_engine"
    " */.config/age/keys.txt */.config/sops/age/keys.txt */application?support/sops/age/keys.txt",
    "a cloud's credentials": "*/.aws/credentials */.aws/sso/* */.aws/cli/cache/* */.azure/accesstokens.json"
    " */.azure/msal_token_cache* */.config/gcloud/* */.oci/config */.oci/*.pem */.config/doctl/config.yaml"
    " */.bluemix/config.json */.aliyun/config.json */.config/hcloud/cli.toml */.linode-cli */.fly/config.yml"
    " */.terraform.d/credentials.tfrc.json */.terraformrc */.config/configstore/*",
    "a cluster's credentials": "*/.kube/config */kubeconfig */kubeconfig.yaml /etc/kubernetes/*.conf"
    " /etc/kubernetes/pki/*"
    " /var/run/secrets/kubernetes.io/* /run/secrets/*",
    "a token": "*/.npmrc */.pypirc */.netrc */_netrc */.git-credentials */.config/git/credentials"
    " */.config/gh/hosts.yml"
    " */.config/glab-cli/config.yml */.docker/config.json */.cargo/credentials* */.gem/credentials */.vault-token"
    " */.helm/repository/repositories.yaml */helm/repositories.yaml"
    " */.config/op/* */.composer/auth.json */.m2/settings*.xml */.gradle/gradle.properties */.nuget/nuget.config"
    " */.config/hub */.yarnrc.yml */.circleci/cli.yml */.config/netlify/config.json */.heroku/credentials"
    " */.huggingface/token */.cache/huggingface/token */.databrickscfg */.snowsql/config */.boto"
    " */.s3cfg */.rclone.conf"
    " */.config/rclone/rclone.conf */.claude/.credentials.json */.codex/auth.json */.gemini/oauth_creds.json"
    " */.config/*/token */.comet.config",
    "passwords": "/etc/shadow /etc/shadow- /etc/gshadow /etc/master.passwd */.pgpass */.my.cnf */.mylogin.cnf"
    " */.password-store/* */*.kdbx */login.keychain* */keychains/* /etc/sudoers */.htpasswd */.local/share/keyrings/*",
    "a browser's secrets": "*/login?data */cookies.sqlite */key4.db */logins.json */network/cookies */local?state"
    " */google/chrome*/*/cookies */google-chrome*/*/cookies */.config/chromium/*/cookies */bravesoftware/*/cookies"
    " */application?support/chromium/*/cookies */microsoft-edge*/*/cookies */microsoft?edge*/*/cookies"
    " */microsoft/edge/*/cookies */vivaldi*/*/cookies */opera/cookies */com.operasoftware.opera*/cookies */web?data"
    " *.binarycookies *firefox/*.default*/*",
    "a ticket": "*.keytab */krb5cc_* /etc/wireguard/*.conf */.config/containers/auth.json",
    "the memory of a process or of the machine": "/proc/*/mem /proc/kcore /dev/mem /dev/kmem /dev/port",
    "a wallet": "*/wallet.dat */.electrum/wallets/* */.ethereum/keystore/* */.config/solana/id.json */.bitcoin/*",
    "the variables of a process": "/proc/*/environ",
}
_SAMPLES = ("example", "sample", "template", "dist", "defaults", "schema", "tpl", "test")
_DOTENV = "an environment file"
_KEY_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx", ".ovpn")
_STATES = (".tfstate", ".tfstate.backup")  # what Terraform knows about a resource, its passwords in clear
_NAMES = frozenset(
    "credentials.json client_secret.json service-account.json serviceaccount.json secrets.yml secrets.yaml secrets.json"
    " secret.json id_rsa id_dsa id_ecdsa id_ed25519 .netrc .pgpass .git-credentials .htpasswd secrets.toml"
    " application_default_credentials.json gcp-key.json firebase-adminsdk.json wp-config.php local.settings.json"
    " .vault_pass vault_password master.key .dockercfg .dockerconfigjson".split()
)

_AMONG_KEYS = "a file among keys"
_NO_KEYS = (
    "known_hosts",
    "config",
    "authorized_keys",
    "allowed_signers",
    "environment",
    "rc",
    "readme",
    "control",
    "cm",
)
_NO_KEY_ENDINGS = (".conf", ".txt", ".md", ".log", ".sock")
"""How the names of files begin and end that lie beside keys and are none."""

_ROOT_OF_A_PROCESS = pattern(r"^/proc/[0-9a-z]+/(?:root|cwd)(?=/)")
_TOKENS = pattern(
    r"(?:/home/[^/]+|/users/[^/]+|/root)/\.(?:local/share/)?[^/]+/(?:[^/]+/)?(?:tokens?|[\w-]+_tokens)\.json$"
)
"""What programs keep for a person in a directory of their own; in a project, tokens are colours as often."""

_PATTERNS = Patterns(_BY_PATH)


def credential(path: str) -> str:
    """What kind of secret the file holds by its name; nothing if none. Case is ignored: some file systems do."""
    lower = _ROOT_OF_A_PROCESS.sub("", path.lower())
    name = posixpath.basename(lower)
    if name.endswith(".pub") or GAP in name:
        return ""
    if _dotenv(name):
        return _DOTENV
    kind = _PATTERNS.kind(lower)
    if kind:
        return kind
    if _TOKENS.match(lower):
        return "a token"
    if name.endswith(_STATES):
        return "a secret"
    if name in _NAMES or (name.endswith(_KEY_ENDINGS) and not _certificate(name)):
        return "a secret"
    if lower.endswith(f"/.ssh/{name}") and not name.startswith(_NO_KEYS) and not name.endswith(_NO_KEY_ENDINGS):
        return _AMONG_KEYS if set(name) - set("*.?") else ""
    return _by_pattern(name)


_PUBLIC = pattern(r"(?:^|[-_.])(?:fullchain|chain|ca|cacerts?|certs?|certificates?|crt|csr|bundle)[-_.\d]")
_PRIVATE = pattern(r"key|priv|combined")


def _certificate(name: str) -> bool:
    """What a server shows to everybody; a file that says `key` too may hold both."""
    return name.startswith("public") or (
        name.endswith(".pem") and bool(_PUBLIC.search(name)) and not _PRIVATE.search(name)
    )


def is_key_by_place(kind: str) -> bool:
    """Not known by its name: it lies where keys are."""
    return kind == _AMONG_KEYS


def directory_of_credentials(path: str) -> bool:
    """A directory that is full of them: `~/.ssh`, `~/.aws`, `~/.gnupg`."""
    name = posixpath.basename(path.rstrip(f"/*{GAP}"))
    return name in {".ssh", ".aws", ".gnupg", ".azure", ".kube", ".password-store", "gcloud"}


def is_dotenv(kind: str) -> bool:
    return kind == _DOTENV


def _dotenv(name: str) -> bool:
    if name == ".envrc":
        return True
    first, _, rest = name.partition(".env")
    if rest == "" and name.endswith(".env"):
        return first == "" or first[-1:] not in {"", "."}
    return first == "" and rest.startswith((".", "-", "_")) and not any(part in rest for part in _SAMPLES)


def _by_pattern(name: str) -> str:
    """`.e*` is `.env` by another name, if it is there."""
    if not set(name) & set("*?["):
        return ""
    if set(name) <= set("*.?"):
        return ""
    if fnmatch.fnmatchcase(".env", name):
        return _DOTENV
    return "a key" if any(fnmatch.fnmatchcase(key, name) for key in ("id_rsa", "id_ed25519")) else ""
