"""Infrastructure that is described in files: applied or destroyed, it is real machines and data."""

from trotline.analysis.verbs import Deed
from trotline.effects import Effect
from trotline.guards.deeds import does
from trotline.guards.guard import Guard, Row, Sight


def _changes(effect: Effect, _: Sight) -> bool:
    return effect.verb in {Deed.CHANGE, Deed.GRANT, Deed.STOP}


GUARD = Guard(
    name="infrastructure",
    danger="machines and data that a description stands for are destroyed or changed",
    kinds=frozenset({"infra"}),
    rows=(
        Row(
            "destroys",
            does(Deed.DESTROY),
            "ask deny deny",
            "`{target}` destroys what is described, or forgets that it exists",
            "show the plan to a person (`plan -destroy`, `preview`) and let them apply it",
        ),
        Row(
            "changes",
            _changes,
            "pass ask deny",
            "`{target}` changes real machines",
            "make a plan first, and have it read",
        ),
    ),
    stops=(
        "terraform destroy -auto-approve",
        "terraform -chdir=live apply -destroy -auto-approve",
        "terraform -chdir=live apply -auto-approve",
        "terraform state rm aws_s3_bucket.ledger",
        "terraform workspace delete live",
        "tofu destroy",
        "terragrunt run-all destroy",
        "pulumi destroy --yes",
        "pulumi up --yes",
        "cdk destroy ledger --force",
        "ansible-playbook site.yml -i live",
        "ansible all -m shell -a 'rm -rf /var/lib/ledger'",
        "serverless remove --stage live",
        "knife node delete ledger-1",
    ),
    passes=(
        "terraform -chdir=live plan",
        "tofu plan -destroy -out=gone.plan",
        "terraform init -upgrade",
        "terraform fmt -check -diff",
        "terraform -chdir=live validate",
        "terraform state list",
        "tofu show",
        "pulumi --cwd live preview",
        "cdk diff",
        "cdk synth",
        "ansible-playbook site.yml --syntax-check",
        "packer validate image.pkr.hcl",
        "git commit -m 'terraform destroy'",
    ),
)
