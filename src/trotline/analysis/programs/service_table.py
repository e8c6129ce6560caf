"""Programs of remote services, one row each: the place of the verb, and phrases that differ from its usual meaning.

`service_verbs.py` knows the usual meaning: `delete` destroys, `list` reads. `phrases.py` explains the phrases.
"""

from typing import NamedTuple

from trotline.analysis.programs.phrases import expand_names


class ServiceRow(NamedTuple):
    """A program of a remote service."""

    kind: str = "cloud"
    depth: int = 3  # number of words that may contain the verb
    verb_index: int = -1  # the place of the verb, if it is always the same
    valued: str = ""  # options before the verb that take a value
    destroys: str = ""
    stops: str = ""
    grants: str = ""
    changes: str = ""
    reads: str = ""
    secrets: str = ""  # phrases that show a secret
    runs: str = ""  # phrases that another program follows
    verb_options: str = ""  # options that are the verb: `--delete`
    dry: str = ""  # further options that request a dry run


_GLOBAL_VALUED = (
    "profile region output endpoint-url query color project account configuration format verbosity subscription"
    " namespace address token context config host url user password server org team app cluster"
)

_CLOUD = {
    # Clouds
    "aws": ServiceRow(
        verb_index=1,
        valued="profile region output endpoint-url query color ca-bundle cli-read-timeout cli-connect-timeout",
        destroys="kms schedule-key-deletion|disable-key; cloudformation delete-stack; s3 rb|rm|mv; s3 sync +delete; "
        "ecr batch-delete-image; cloudtrail stop-logging; organizations leave-organization|close-account; "
        "configservice stop-configuration-recorder; account close-account",
        stops="ec2 stop-instances; route53 change-resource-record-sets; iam update-assume-role-policy",
        grants="iam create-user|create-role|create-access-key|create-login-profile|add-user-to-group; "
        "ec2 authorize-security-group-ingress|modify-snapshot-attribute|modify-image-attribute; "
        "s3api put-bucket-acl|put-object-acl|put-public-access-block|delete-public-access-block; "
        "lambda add-permission; sts assume-role",
        changes="s3 cp|mb|sync; ec2 detach-volume; secretsmanager update-secret",
        reads="s3 presign|ls; sts get-caller-identity|decode-authorization-message",
        secrets="secretsmanager get-secret-value|batch-get-secret-value; "
        "ssm get-parameter|get-parameters|get-parameters-by-path +with-decryption; kms decrypt; "
        "sts get-session-token|get-federation-token; ecr get-login-password|get-authorization-token; "
        "configure export-credentials; codeartifact get-authorization-token; rds generate-db-auth-token; "
        "apigateway get-api-key +include-value; apigateway get-api-keys +include-values; "
        "sso get-role-credentials; iam create-access-key; ec2 get-password-data|create-key-pair; "
        "lightsail get-instance-access-details|download-default-key-pair",
    ),
    "gcloud": ServiceRow(
        depth=6,
        valued=_GLOBAL_VALUED,
        destroys="kms keys versions destroy; services disable; storage rsync +delete-unmatched-destination-objects",
        stops="compute instances stop",
        grants="projects add-iam-policy-binding; iam service-accounts create; iam service-accounts keys create",
        reads="info; config get-value|list; auth list|login",
        secrets="secrets versions access; auth print-access-token|print-identity-token; "
        "auth application-default print-access-token; iam service-accounts keys create; kms decrypt; "
        "sql generate-login-token",
    ),
    "bq": ServiceRow(valued="project_id dataset_id location format", depth=1, reads="query", destroys="cancel"),
    "az": ServiceRow(
        depth=6,
        valued="subscription output query",
        grants="role assignment create; ad sp create|create-for-rbac; ad app credential reset; ad sp credential reset",
        destroys="lock delete; group lock delete; resource lock delete; account lock delete",
        stops="vm deallocate|stop",
        secrets="keyvault secret show|download; account get-access-token; storage account keys list; "
        "acr credential show; cosmosdb keys list; redis list-keys; storage account show-connection-string; "
        "ad sp create-for-rbac; keyvault key download; webapp deployment list-publishing-profiles; "
        "servicebus namespace authorization-rule keys list; acr login +expose-token; aks get-credentials",
    ),
    "doctl": ServiceRow(
        depth=5, valued=_GLOBAL_VALUED, secrets="auth token; registry docker-config; databases connection"
    ),
    "linode-cli": ServiceRow(depth=4, secrets="lke kubeconfig-view"),
    "hcloud": ServiceRow(valued=_GLOBAL_VALUED, stops="server poweroff|shutdown"),
    "oci": ServiceRow(depth=7, valued=_GLOBAL_VALUED, secrets="secrets secret-bundle get; iam auth-token create"),
    "ibmcloud": ServiceRow(depth=5, secrets="iam oauth-tokens"),
    "aliyun": ServiceRow(depth=2, verb_index=1, valued=_GLOBAL_VALUED, secrets="kms GetSecretValue"),
    "scw": ServiceRow(depth=4, secrets="secret version access; iam api-key create"),
    "openstack": ServiceRow(depth=4, secrets="token issue"),
    "exo ovhcloud vultr-cli": ServiceRow(depth=4),
    "eksctl": ServiceRow(depth=2, valued=_GLOBAL_VALUED),
    "amplify copilot": ServiceRow(runs="svc exec"),
    "eb": ServiceRow(depth=2, stops="abort|restart", changes="use"),
    "sam": ServiceRow(depth=2),
    # Platforms
    "fly flyctl": ServiceRow(
        depth=4,
        valued="a app C command c config g group o org r region t access-token u user container machine",
        runs="ssh console",
        secrets="auth token; tokens create",
        destroys="secrets unset",
    ),
    "heroku": ServiceRow(
        depth=2,
        valued="a app e env r remote s size type team",
        destroys="pg:reset|apps:destroy|apps:delete|config:unset|addons:destroy|pg:restore|pg:backups:delete|"
        "pg:push|destroy",
        stops="maintenance:on|ps:stop|releases:rollback|rollback",
        secrets="config|config:get|auth:token|pg:credentials:url|authorizations:create",
        runs="run",
        reads="pg:psql|pg:info",
    ),
    "vercel": ServiceRow(secrets="env pull; env ls +decrypt", stops="rollback|promote", valued="token t scope S cwd"),
    "netlify": ServiceRow(secrets="env:get|env:list|env:clone", runs="dev:exec", valued="auth filter"),
    "railway": ServiceRow(destroys="down", secrets="variables; variable list", runs="run"),
    "akamai render": ServiceRow(),
    "wrangler": ServiceRow(depth=5, valued="c config env e cwd", stops="rollback", reads="dev|tail|types"),
    "firebase": ServiceRow(
        depth=2,
        valued="project P token",
        destroys="database:remove",
        stops="hosting:disable",
        secrets="functions:secrets:access|login:ci",
    ),
    "supabase": ServiceRow(
        destroys="db reset; db push +include-all; stop +no-backup",
        secrets="projects api-keys; secrets list",
        stops="stop",
    ),
    "cf": ServiceRow(
        depth=1,
        destroys="d|ds|delete-org|delete-space|unmap-route|us|unbind-service",
        stops="sp",
        reads="apps|a|services|s|app|env|t|target|orgs|spaces|routes",
        secrets="oauth-token|ssh-code|service-key",
    ),
    "fastly": ServiceRow(depth=4, valued="token t", destroys="purge", secrets="auth-token create; profile token"),
    # Forges and pipelines
    "circleci": ServiceRow(valued="host token"),
    "gitlab-runner": ServiceRow(depth=1),
    "buildkite-agent": ServiceRow(secrets="secret get"),
    "bk": ServiceRow(),
    "jenkins-cli": ServiceRow(
        depth=1,
        valued="s auth i user webSocket logger",
        destroys="quiet-down",
        stops="safe-shutdown|shutdown|safe-restart",
    ),
    "argocd": ServiceRow(valued=_GLOBAL_VALUED, destroys="app sync +prune", stops="app terminate-op|rollback"),
    "flux": ServiceRow(valued="n namespace context kubeconfig"),
    "tkn": ServiceRow(valued="n namespace c context"),
    "drone": ServiceRow(stops="build stop|kill"),
    "travis": ServiceRow(depth=2, secrets="token", destroys="cache +delete", valued="r repo"),
    # Monitoring, flags, money, mail, identity
    "apigee braintree datadog-ci flipt okta sendgrid square twilio": ServiceRow(),
    "sentry-cli": ServiceRow(valued="url auth-token o org p project"),
    "newrelic": ServiceRow(depth=4, secrets="apiAccess apiAccessGetKey"),
    "pagerduty pd": ServiceRow(depth=2),
    "grafana-cli": ServiceRow(valued="homepath config configOverrides pluginsDir", stops="admin reset-admin-password"),
    "grafana": ServiceRow(depth=4),
    "promtool": ServiceRow(reads="check|query|test; tsdb analyze|list|dump"),
    "amtool": ServiceRow(stops="silence add|expire"),
    "logcli": ServiceRow(depth=1, reads="query|labels|series"),
    "splunk": ServiceRow(depth=2, destroys="clean"),
    "stripe": ServiceRow(
        valued="api-key p project-name", stops="payment_intents cancel", destroys="subscriptions cancel"
    ),
    "auth0": ServiceRow(secrets="apps show +reveal-secrets|r"),
    "apigeecli": ServiceRow(valued="a account t token o org", secrets="token gen"),
    "kong": ServiceRow(depth=2, destroys="migrations reset", stops="quit|reload", reads="check|health"),
    "deck": ServiceRow(
        depth=2, destroys="sync|reset; gateway sync|reset", reads="file|validate|diff|dump|ping; gateway diff|dump"
    ),
    "ldcli": ServiceRow(valued="access-token base-uri o output"),
    "unleash": ServiceRow(depth=2, changes="features disable|enable"),
    "algolia": ServiceRow(valued="p profile application-id api-key"),
    "wandb": ServiceRow(valued="entity e project p"),
    "mlflow": ServiceRow(destroys="gc; db downgrade", reads="ui|server"),
    "huggingface-cli": ServiceRow(destroys="repo delete; delete-cache; repo-files delete"),
    "hf": ServiceRow(destroys="repo delete; cache delete; repo-files delete"),
    "databricks": ServiceRow(
        depth=4, valued="profile p o output", secrets="secrets get-secret; auth token", destroys="fs rm"
    ),
    "confluent": ServiceRow(depth=5, valued="environment cluster", secrets="api-key create"),
    "temporal": ServiceRow(depth=4, valued="address n namespace", stops="workflow terminate|cancel"),
    "nomad": ServiceRow(
        depth=4, stops="job stop|revert; stop; node drain", destroys="system gc; job stop +purge; stop +purge"
    ),
    "boundary": ServiceRow(secrets="credentials read"),
    # Databases and platforms that others run
    "convex": ServiceRow(
        depth=2,
        destroys="import +replace; import +replace-all; disable",
        secrets="env get|list",
        reads="data|logs|dashboard|docs|codegen; env get|list",
        changes="dev|deploy|run|import; env set",
    ),
    "dokku": ServiceRow(
        depth=1,
        valued="app remote",
        destroys="cleanup|config:clear",
        stops="ps:stop|ps:restart|ps:rebuild|maintenance:enable|proxy:disable",
        changes="ps:start|run|enter|git:sync",
        secrets="config|config:show|config:get|config:export|config:bundle",
        reads="logs|ps:report|ps:inspect|apps:exists|version",
    ),
    "istioctl": ServiceRow(
        valued="n namespace i istioNamespace c kubeconfig context",
        reads="analyze|proxy-status|ps|proxy-config|pc|version|verify-install|validate|manifest|profile|"
        "dashboard|d|bug-report",
    ),
    "neon neonctl": ServiceRow(
        depth=2,
        valued="project-id org-id api-key o output context-file config-dir",
        destroys="branches reset|restore",
        secrets="connection-string|cs; api-keys create",
        reads="me|orgs|auth|set-context|connection-string|cs",
    ),
    "pscale": ServiceRow(
        valued="org f format service-token service-token-id api-url config",
        destroys="branch demote; data-imports cancel; keyspace resize cancel",
        stops="deploy-request revert|skip-revert",
        changes="shell|connect; branch promote; deploy-request deploy; database restore-dump",
        secrets="password create|renew; service-token create",
    ),
}

_INFRASTRUCTURE = {
    "cdk": ServiceRow(depth=2, valued="a app c context profile o output", reads="synth|synthesize|ls"),
    "serverless sls": ServiceRow(depth=2),
    "terraform terragrunt tofu": ServiceRow(
        valued="chdir",
        destroys="destroy|force-unlock; apply +destroy; state rm|push; workspace delete; run-all|stack destroy",
        changes="apply|import|taint|untaint|refresh|login|logout; state mv|replace-provider; run-all|stack apply",
        reads="plan|init|fmt|validate|show|output|console|get|graph|providers|test|version|hclfmt|render-json; "
        "workspace list|select|new|show; state list|show; run-all plan|validate",
        secrets="state pull",
    ),
    "cdktf": ServiceRow(depth=1, reads="synth|diff|get|init|convert|watch"),
    "pulumi": ServiceRow(
        depth=2,
        valued="s stack C cwd",
        dry="preview-only",
        destroys="destroy|down|cancel; stack rm; state delete|rename",
        changes="up|update|import|refresh|watch; state unprotect; stack import; config set|rm",
        reads="preview|pre|logs|whoami|new|login|about|config; stack ls|select|init|output|export",
        secrets="config get +show-secrets; config +show-secrets; stack output|export +show-secrets; config get",
    ),
    "packer": ServiceRow(depth=1, changes="build", reads="init|inspect|fmt|console"),
    "crossplane": ServiceRow(depth=2),
    "puppet": ServiceRow(depth=2, changes="apply|agent", destroys="node clean; cert clean; ca clean", dry="noop"),
    "chef-client": ServiceRow(depth=0, dry="why-run W"),
    "knife": ServiceRow(),
    "juju": ServiceRow(depth=1, destroys="kill-controller|destroy-model|destroy-controller|remove-application"),
    "bosh": ServiceRow(depth=1, valued="e environment d deployment", destroys="delete-deployment|clean-up|delete-env"),
    "kops": ServiceRow(depth=2, changes="update|edit|rolling-update", valued="name state"),
    "kubeadm": ServiceRow(depth=1, destroys="reset", changes="init|join|upgrade"),
    "talosctl": ServiceRow(depth=1, destroys="reset", stops="shutdown|reboot", valued="n nodes e endpoints"),
    "nixops": ServiceRow(depth=1, destroys="destroy|delete"),
    "cfn waypoint": ServiceRow(depth=1),
    "dagger": ServiceRow(depth=1, changes="call|run"),
}

_SECRETS = {
    "vault": ServiceRow(
        valued="namespace address token header",
        destroys="kv destroy|delete; kv metadata delete; secrets disable; auth disable; audit disable; "
        "lease revoke; token revoke; operator seal|rekey; operator raft remove-peer; namespace delete; "
        "delete",
        stops="secrets move; operator step-down|rotate",
        changes="write|unwrap; kv put|patch|undelete|rollback; secrets enable",
        secrets="read|unwrap; kv get; token create; print token; operator init|generate-root",
        reads="login|status|version|list|path-help; operator members; kv list; kv metadata get; policy read; "
        "token lookup",
    ),
    "bao": ServiceRow(
        valued="namespace address token",
        destroys="secrets disable; auth disable; operator seal; kv destroy",
        secrets="read|unwrap; kv get; token create; operator init",
        reads="policy read",
    ),
    "op": ServiceRow(
        valued="account vault session config env-file",
        secrets="read|inject; item get +reveal; item get +fields|otp; document get; item get +share-link",
        runs="run",
        reads="signin|update|completion; account add",
    ),
    "bws": ServiceRow(secrets="secret get|list", runs="run"),
    "doppler": ServiceRow(
        valued="p project c config t token scope command mount mount-format fallback",
        secrets="secrets; secrets get|list|download; configs tokens create",
        reads="configure|open|me|setup|login|update",
        runs="run",
    ),
    "infisical": ServiceRow(
        valued="env path projectId token", secrets="secrets|export; secrets get; user get token", runs="run"
    ),
    "chamber": ServiceRow(
        depth=1, secrets="read|export|env; history -x", runs="exec", valued="b backend", reads="list|find"
    ),
    "sops": ServiceRow(
        depth=1,
        secrets="decrypt|exec-env|exec-file; +d; +decrypt; +extract",
        reads="filestatus|encrypt|updatekeys",
        changes="edit|rotate",
    ),
    "aws-vault": ServiceRow(depth=1, runs="exec", secrets="export", reads="list|login", valued="d duration region"),
    "conjur": ServiceRow(secrets="variable get"),
    "akeyless": ServiceRow(depth=1, secrets="get-secret-value|get-dynamic-secret-value"),
    "berglas": ServiceRow(depth=1, secrets="access", runs="exec"),
}

_DATA = {
    "dvc": ServiceRow(depth=2, destroys="gc|destroy|remove", changes="checkout|repro|pull|push|add"),
    "airflow": ServiceRow(
        destroys="db reset|clean; dags delete; tasks clear", secrets="connections get|export; variables export"
    ),
    "consul": ServiceRow(
        destroys="kv delete; leave|force-leave; snapshot restore",
        stops="maint|lock",
        secrets="acl bootstrap; acl token create",
    ),
    "etcdctl": ServiceRow(
        depth=2, valued="endpoints cacert cert key user w write-out", destroys="defrag|compact; snapshot restore"
    ),
    "kafka-topics": ServiceRow(verb_options="delete alter create list describe"),
    "kafka-configs": ServiceRow(verb_options="delete-config alter add-config describe"),
    "kafka-consumer-groups": ServiceRow(verb_options="delete delete-offsets reset-offsets list describe"),
    "kafka-acls": ServiceRow(verb_options="remove add list"),
    "kafka-delete-records": ServiceRow(verb_options="offset-json-file"),
    "kafka-streams-application-reset": ServiceRow(verb_options="application-id"),
    "kafka-reassign-partitions": ServiceRow(verb_options="execute cancel verify generate"),
    "kafka-leader-election": ServiceRow(verb_options="election-type"),
    "kafka-storage": ServiceRow(depth=1, destroys="format"),
    "rpk": ServiceRow(valued="brokers X profile", stops="cluster maintenance enable"),
    "kcat": ServiceRow(verb_options="P"),
    "rabbitmqctl": ServiceRow(
        depth=1,
        valued="n node q p vhost t timeout",
        stops="stop|stop_app|shutdown|hipe_compile",
        destroys="force_reset|reset|forget_cluster_node",
    ),
    "rabbitmqadmin": ServiceRow(depth=1, valued="H host P port u username p password V vhost c config"),
    "nats": ServiceRow(
        valued="s server user password creds context", reads="bench|rtt|sub; kv ls; account info", changes="pub|req"
    ),
    "pulsar-admin": ServiceRow(valued="admin-url"),
    "cockroach": ServiceRow(depth=2, destroys="node decommission; debug reset-quorum"),
    "nodetool": ServiceRow(
        depth=1,
        valued="h host p port u pw",
        destroys="clearsnapshot|removenode|decommission|assassinate|truncatehints",
        stops="drain",
    ),
    "couchbase-cli": ServiceRow(depth=1, destroys="bucket-flush|bucket-delete|server-eshell"),
    "curator_cli": ServiceRow(depth=1, destroys="delete_indices|delete_snapshots"),
    "hdfs": ServiceRow(verb_options="rm rmr expunge rmdir deleteSnapshot skipTrash"),
    "hadoop": ServiceRow(verb_options="rm rmr expunge rmdir"),
    "hbase": ServiceRow(depth=2),
    "hasura": ServiceRow(
        destroys="metadata clear; database drop", stops="migrate apply +down", changes="migrate apply"
    ),
}

_BACKUPS = {
    "restic": ServiceRow(
        depth=2,
        valued="r repo p password-file password-command cache-dir o option",
        destroys="forget|prune; key remove; unlock +remove-all; cache +cleanup; rewrite +forget; "
        "repair snapshots +forget",
        reads="snapshots|mount|dump|find|diff|stats|unlock; key list",
        changes="restore|backup|copy",
        dry="n",
    ),
    "borg": ServiceRow(
        depth=1,
        valued="remote-path rsh lock-wait",
        destroys="delete|prune|compact|recreate|break-lock|rcompress|rdelete",
        reads="mount|umount|list|info|check|diff|export-tar",
        dry="n",
    ),
    "borgmatic": ServiceRow(depth=1, destroys="prune|compact|delete|borg", dry="n"),
    "kopia": ServiceRow(destroys="snapshot expire; blob gc; maintenance run +full; content delete"),
    "duplicity": ServiceRow(
        depth=1,
        destroys="remove-older-than|remove-all-but-n-full|remove-all-inc-of-but-n-full|cleanup",
        reads="collection-status|list-current-files",
    ),
    "velero": ServiceRow(depth=2, valued="n namespace kubeconfig kubecontext"),
    "rdiff-backup": ServiceRow(verb_options="remove-older-than"),
    "tarsnap": ServiceRow(verb_options="d nuke"),
    "barman duplicacy rsnapshot": ServiceRow(depth=1),
    "wal-g": ServiceRow(depth=2),
    "pgbackrest": ServiceRow(depth=1, valued="stanza config", destroys="expire|stanza-delete", stops="stop"),
    "tmutil": ServiceRow(depth=1, destroys="deletelocalsnapshots|thinlocalsnapshots", stops="disable|disablelocal"),
    "snapper": ServiceRow(depth=1, valued="c config", stops="undochange|rollback"),
    "timeshift": ServiceRow(verb_options="delete delete-all restore"),
}

_KINDS = {"cloud": _CLOUD, "infra": _INFRASTRUCTURE, "secrets": _SECRETS, "data": _DATA, "backup": _BACKUPS}
SERVICES = {name: row._replace(kind=kind) for kind, rows in _KINDS.items() for name, row in expand_names(rows).items()}
