"""Things that live at a service: what is deleted there is gone for everybody."""

from trotline.analysis.cloud_settings import Setting
from trotline.analysis.verbs import REMOVE, Deed
from trotline.effects import Effect
from trotline.guards.deeds import does
from trotline.guards.guard import Guard, Row, Sight, Test


def _set(setting: Setting) -> Test:
    def test(effect: Effect, _: Sight) -> bool:
        return effect.source == setting

    return test


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
            "unprotected",
            _set(Setting.UNPROTECTED),
            "pass ask deny",
            "`{target}` takes away what keeps something at {host} from being lost",
            "leave it protected; who really deletes it takes the protection away then",
        ),
        Row(
            "open to everybody",
            _set(Setting.OPEN),
            "pass ask deny",
            "`{target}` lets everybody reach something at {host}",
            "name the addresses or the people that need it",
        ),
        Row(
            "nothing left running",
            _set(Setting.STOPPED),
            "pass ask deny",
            "`{target}` leaves nothing of it running at {host}",
        ),
        Row(
            "runs elsewhere",
            _set(Setting.REMOTE),
            "pass ask deny",
            "`{target}` runs commands on machines at {host}, and nobody sees there what they do",
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
        "supabase stop --no-backup",
        "heroku pg:reset DATABASE_URL --confirm ledger",
        "wrangler r2 bucket delete ledger-files",
        "sudo -u deploy doctl compute droplet delete 4711 --force",
        "aws iam attach-user-policy --user-name ci --policy-arn arn:aws:iam::aws:policy/AdministratorAccess",
        "glab api -X DELETE projects/7/variables/KEY",
        "aws rds modify-db-instance --db-instance-identifier ledger --no-deletion-protection",
        "gcloud compute firewall-rules create in --allow tcp:22 --source-ranges=0.0.0.0/0",
        "az sql server firewall-rule create -g shop -s ledger -n all --start-ip-address 0.0.0.0",
        "aws ecs update-service --cluster shop --service web --desired-count 0",
        "heroku ps:scale web=0",
        "aws ssm send-command --instance-ids i-7 --document-name AWS-RunShellScript --parameters commands=uptime",
        "aws organizations close-account --account-id 123456789012",
        "aws route53 change-resource-record-sets --hosted-zone-id Z7 --change-batch file://records.json",
        "pscale database delete ledger --force",
        "neonctl branches reset live --parent",
        "dokku apps:destroy ledger",
        "Remove-AzResourceGroup -Name shop -Force",
        "istioctl uninstall --purge",
        "npx convex import --replace-all data.zip",
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
        "aws ecs update-service --cluster shop --service web --desired-count 3",
        "gcloud compute firewall-rules create in --allow tcp:22 --source-ranges=10.0.0.0/8",
        "heroku ps:scale web=2",
        "pscale branch list ledger",
        "neonctl projects list",
        "dokku logs ledger",
        "istioctl analyze",
    ),
)
