"""Things that live at a service: what is deleted there is gone for everybody."""

from trotline.analysis.server_deeds import REMOVE
from trotline.analysis.verbs import Deed
from trotline.effects import Effect
from trotline.guards.deeds import does
from trotline.guards.guard import Guard, Row, Sight


def _removes(effect: Effect, _: Sight) -> bool:
    return effect.verb == REMOVE


GUARD = Guard(
    name="cloud",
    danger="what others rely on is deleted or stopped at a service",
    kinds=frozenset({"cloud"}),
    rows=(
        Row(
            "deletes",
            does(Deed.DESTROY),
            "ask deny deny",
            "`{target}` deletes something at {host}, and this machine cannot bring it back",
            "look at it first, or try it with a dry run; a person should delete it",
        ),
        Row(
            "stops",
            does(Deed.STOP),
            "pass ask deny",
            "`{target}` stops or takes back something at {host} that may be in use",
        ),
        Row(
            "removes",
            _removes,
            "pass ask ask",
            "`{target}` takes something away at {host}",
            "say what would be gone, and let a person do it",
        ),
        Row("opens", does(Deed.GRANT), "pass ask deny", "`{target}` changes who may do what at {host}"),
        Row("changes", does(Deed.CHANGE), "pass pass ask", "`{target}` changes something at {host}"),
    ),
    stops=(
        "aws dynamodb delete-table --table-name orders-eu",
        "aws --profile live ec2 terminate-instances --instance-ids i-77",
        "gcloud sql instances delete ledger --quiet",
        "az group delete --name shop-rg --yes",
        "gsutil -m rm -r gs://ledger-archive",
        "aws s3 sync ./site s3://shop-site --delete",
        "gh repo delete acme/ledger --yes",
        "fly apps destroy ledger",
        "heroku pg:reset DATABASE_URL --confirm ledger",
        "wrangler r2 bucket delete ledger-files",
        "sudo -u deploy doctl compute droplet delete 4711 --force",
        "aws iam attach-user-policy --user-name ci --policy-arn arn:aws:iam::aws:policy/AdministratorAccess",
        "glab api -X DELETE projects/7/variables/KEY",
    ),
    passes=(
        "aws sts get-caller-identity",
        "aws logs tail /aws/lambda/checkout --follow",
        "aws s3 sync ./site s3://shop-site --delete --dryrun",
        "aws dynamodb delete-table help",
        "gcloud run services list --region europe-west1",
        "gcloud logging read 'severity>=ERROR' --limit 5",
        "az webapp log tail --name shop",
        "gh pr create --title 'delete the old bucket' --body 'gcloud sql instances delete'",
        "gh pr view 12 --comments",
        "heroku logs --tail",
        "fly status",
        "vercel ls",
        "echo aws s3 rb s3://shop-site --force",
        "wrangler dev",
    ),
)
