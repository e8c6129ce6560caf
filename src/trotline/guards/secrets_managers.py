"""Secrets that a keeper holds: shown to an agent they stand in its conversation; deleted they lock others out."""

from trotline.analysis.credentials import KEEPER
from trotline.analysis.verbs import Deed
from trotline.effects import Effect
from trotline.guards.deeds import does
from trotline.guards.guard import Guard, Row, Sight


def _shows(effect: Effect, _: Sight) -> bool:
    return effect.kind == "read" and effect.verb == "secret" and effect.source == KEEPER


def _writes(effect: Effect, _: Sight) -> bool:
    return effect.kind == "secrets" and effect.verb in {Deed.CHANGE, Deed.STOP, Deed.GRANT}


GUARD = Guard(
    name="secrets_managers",
    danger="secrets in a keeper are shown, changed or deleted",
    kinds=frozenset({"read", "secrets"}),
    rows=(
        Row(
            "shows",
            _shows,
            "pass ask deny",
            "`{target}` prints a secret, which then stands in the conversation",
            "let the program that needs it fetch it, for example with the keeper's own `run`",
        ),
        Row(
            "deletes",
            does(Deed.DESTROY),
            "ask deny deny",
            "`{target}` deletes secrets or the rules about them; programs that need them stop working",
            "a person should do this",
        ),
        Row("changes", _writes, "pass ask deny", "`{target}` changes secrets that programs rely on"),
    ),
    stops=(
        "vault kv destroy -versions=4 kv/shop/db",
        "vault -address=https://v.example secrets disable kv-old/",
        "vault kv get -field=token kv/shop/mail",
        "vault kv put kv/shop/mail token=x",
        "doppler secrets delete MAIL_KEY --yes",
        "op vault delete Shop",
        "op read op://Shop/mail/password",
        "aws secretsmanager get-secret-value --secret-id shop/mail",
        "aws secretsmanager delete-secret --secret-id shop/mail",
        "gcloud secrets versions access latest --secret=mail",
        "kubectl get secret mail -o yaml",
        "gh auth token",
        "infisical secrets get MAIL --env live",
        "echo $(az keyvault secret show --vault-name shop --name mail --query value)",
    ),
    passes=(
        "vault status",
        "vault kv list kv/shop",
        "vault policy read shop",
        "op item list --vault Shop",
        "op run -- make test",
        "doppler run -- npm test",
        "aws secretsmanager list-secret-version-ids --secret-id shop/mail",
        "aws ssm get-parameter-history --name /shop/mail",
        "kubectl get secrets",
        "gh secret list",
        "gcloud secrets list",
        "grep -rn 'vault kv get' docs",
    ),
)
