"""Recognise files that hold secrets by path and name."""

import fnmatch
import posixpath

from trotline.agents.generated_tables import CREDENTIALS
from trotline.analysis.locations import PathPatterns
from trotline.analysis.shell.invocation import UNKNOWN_TEXT
from trotline.formats.lazy_regex import lazy_regex

MANAGER_SOURCE = "keeper"
"""The source of a secret that a secret manager shows."""

MEMORY_SOURCE = "stolen"
"""The source of a secret that is read from the memory of another process."""

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
    " */.config/rclone/rclone.conf"
    f" */.config/*/token */.comet.config {' '.join(CREDENTIALS)}",
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
_KEY_SUFFIXES = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx", ".ovpn")
_STATE_SUFFIXES = (".tfstate", ".tfstate.backup")  # Terraform state holds passwords in clear text
_NAMES = frozenset(
    "credentials.json client_secret.json service-account.json serviceaccount.json secrets.yml secrets.yaml secrets.json"
    " secret.json id_rsa id_dsa id_ecdsa id_ed25519 .netrc .pgpass .git-credentials .htpasswd secrets.toml"
    " application_default_credentials.json gcp-key.json firebase-adminsdk.json wp-config.php local.settings.json"
    " .vault_pass vault_password master.key .dockercfg .dockerconfigjson".split()
)

_NEAR_KEYS = "a file among keys"
_NOT_KEY_PREFIXES = tuple("known_hosts config authorized_keys allowed_signers environment rc readme control cm".split())
_NOT_KEY_SUFFIXES = (".conf", ".txt", ".md", ".log", ".sock")
"""Prefixes and suffixes of names in `.ssh` that do not belong to keys."""

_PROCESS_ROOT = lazy_regex(r"^/proc/[0-9a-z]+/(?:root|cwd)(?=/)")
_TOKEN_FILE = lazy_regex(
    r"(?:/home/[^/]+|/users/[^/]+|/root)/\.(?:local/share/)?[^/]+/(?:[^/]+/)?(?:tokens?|[\w-]+_tokens)\.json$"
)
"""Token files of programs in a home directory; in a project, `tokens.json` often holds design colours."""

_PATTERNS = PathPatterns(_BY_PATH)


def classify_secret_file(path: str) -> str:
    """Return the kind of secret that a file holds by its name, or an empty text. Case is ignored."""
    lower = _PROCESS_ROOT.sub("", path.lower())
    name = posixpath.basename(lower)
    if name.endswith(".pub") or UNKNOWN_TEXT in name:
        return ""
    if _is_dotenv_name(name):
        return _DOTENV
    kind = _PATTERNS.classify(lower)
    if kind:
        return kind
    if _TOKEN_FILE.match(lower):
        return "a token"
    if name.endswith(_STATE_SUFFIXES):
        return "a secret"
    if name in _NAMES or (name.endswith(_KEY_SUFFIXES) and not _is_certificate(name)):
        return "a secret"
    if (
        lower.endswith(f"/.ssh/{name}")
        and not name.startswith(_NOT_KEY_PREFIXES)
        and not name.endswith(_NOT_KEY_SUFFIXES)
    ):
        return _NEAR_KEYS if set(name) - set("*.?") else ""
    return _classify_wildcard(name)


_PUBLIC_NAME = lazy_regex(r"(?:^|[-_.])(?:fullchain|chain|ca|cacerts?|certs?|certificates?|crt|csr|bundle)[-_.\d]")
_PRIVATE_NAME = lazy_regex(r"key|priv|combined")


def _is_certificate(name: str) -> bool:
    """Return whether a file is a public certificate; one with `key` in its name may hold both."""
    return name.startswith("public") or (
        name.endswith(".pem") and bool(_PUBLIC_NAME.search(name)) and not _PRIVATE_NAME.search(name)
    )


def is_key_by_location(kind: str) -> bool:
    """Return whether a kind means a file that is only assumed to be a key because it lies among keys."""
    return kind == _NEAR_KEYS


def is_secret_directory(path: str) -> bool:
    """Return whether a directory holds secrets: `~/.ssh`, `~/.aws`, `~/.gnupg`."""
    name = posixpath.basename(path.rstrip(f"/*{UNKNOWN_TEXT}"))
    return name in {".ssh", ".aws", ".gnupg", ".azure", ".kube", ".password-store", "gcloud"}


def is_dotenv(kind: str) -> bool:
    """Return whether a kind means an environment file."""
    return kind == _DOTENV


def _is_dotenv_name(name: str) -> bool:
    if name == ".envrc":
        return True
    first, _, rest = name.partition(".env")
    if rest == "" and name.endswith(".env"):
        return first == "" or first[-1:] not in {"", "."}
    return first == "" and rest.startswith((".", "-", "_")) and not any(part in rest for part in _SAMPLES)


def _classify_wildcard(name: str) -> str:
    """Classify a name with wildcards: `.e*` matches `.env`."""
    if not set(name) & set("*?["):
        return ""
    if set(name) <= set("*.?"):
        return ""
    if fnmatch.fnmatchcase(".env", name):
        return _DOTENV
    return "a key" if any(fnmatch.fnmatchcase(key, name) for key in ("id_rsa", "id_ed25519")) else ""
