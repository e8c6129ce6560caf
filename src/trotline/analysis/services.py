"""Command lines of remote services, one row each: where the verb stands, and what differs from the usual meaning."""

from typing import NamedTuple


class Service(NamedTuple):
    """A program that speaks to a service. Phrases are words in their order; `+flag` in one must be given, `-flag` must
    not. Several phrases are parted by `;`.
    """

    kind: str = "cloud"
    depth: int = 3  # how many words may come before the objects, the verb among them
    at: int = -1  # where the verb stands, if always at one place
    valued: str = ""  # options in front of the verb that take a value
    destroys: str = ""
    stops: str = ""
    grants: str = ""
    changes: str = ""
    reads: str = ""
    secrets: str = ""  # show a secret
    runs: str = ""  # another program follows
    flags: str = ""  # flags that are the verb: `--delete`
    dry: str = ""  # further flags that only look


_GLOBAL = "profile region output endpoint-url query color project account configuration format verbosity subscription"
_GLOBAL += " namespace address token context config host url user password server org team app cluster"

SERVICES = {
    # Clouds
    "aws": Service(
        at=1,
        valued="profile region output endpoint-url query color ca-bundle cli-read-timeout cli-connect-timeout",
        destroys="kms schedule-key-deletion;cloudformation delete-stack;s3 rb;s3 rm;s3 sync +delete;s3 mv;kms"
        " disable-key;"
        "ecr batch-delete-image;cloudtrail stop-logging;organizations leave-organization;configservice"
        " stop-configuration-recorder;organizations close-account;account close-account",
        stops="ec2 stop-instances;route53 change-resource-record-sets;iam update-assume-role-policy",
        grants="iam create-user;iam create-role;iam create-access-key;iam create-login-profile;iam add-user-to-group;"
        "ec2 authorize-security-group-ingress;ec2 modify-snapshot-attribute;ec2 modify-image-attribute;"
        "s3api put-bucket-acl;s3api put-object-acl;s3api put-public-access-block;s3api delete-public-access-block;"
        "lambda add-permission;sts assume-role",
        changes="s3 cp;s3 mb;s3 sync;ec2 detach-volume;secretsmanager update-secret",
        reads="s3 presign;s3 ls;sts get-caller-identity;sts decode-authorization-message",
        secrets="secretsmanager get-secret-value;secretsmanager batch-get-secret-value;ssm get-parameter"
        " +with-decryption;"
        "ssm get-parameters +with-decryption;ssm get-parameters-by-path +with-decryption;kms decrypt;"
        "sts get-session-token;sts get-federation-token;ecr get-login-password;ecr get-authorization-token;"
        "configure export-credentials;codeartifact get-authorization-token;rds generate-db-auth-token;"
        "apigateway get-api-key +include-value;apigateway get-api-keys +include-values;sso get-role-credentials;"
        "iam create-access-key;ec2 get-password-data;ec2 create-key-pair;lightsail get-instance-access-details;"
        "lightsail download-default-key-pair",
    ),
    "gcloud": Service(
        depth=6,
        valued=_GLOBAL,
        destroys="kms keys versions destroy;services disable;storage rsync +delete-unmatched-destination-objects",
        stops="compute instances stop",
        grants="projects add-iam-policy-binding;iam service-accounts create;iam service-accounts keys create",
        reads="info;config get-value;config list;auth list;auth login",
        secrets="secrets versions access;auth print-access-token;auth print-identity-token;"
        "auth application-default print-access-token;iam service-accounts keys create;kms decrypt;"
        "sql generate-login-token",
    ),
    "bq": Service(valued="project_id dataset_id location format", depth=1, reads="query", destroys="cancel"),
    "az": Service(
        depth=6,
        valued="subscription output query",
        grants="role assignment create;ad sp create;ad sp create-for-rbac;ad app credential reset;ad sp credential"
        " reset",
        destroys="lock delete;group lock delete;resource lock delete;account lock delete",
        stops="vm deallocate;vm stop",
        secrets="keyvault secret show;keyvault secret download;account get-access-token;storage account keys list;"
        "acr credential show;cosmosdb keys list;redis list-keys;storage account show-connection-string;"
        "ad sp create-for-rbac;keyvault key download;webapp deployment list-publishing-profiles;"
        "servicebus namespace authorization-rule keys list;acr login +expose-token;aks get-credentials",
    ),
    "doctl": Service(depth=5, valued=_GLOBAL, secrets="auth token;registry docker-config;databases connection"),
    "linode-cli": Service(depth=4, secrets="lke kubeconfig-view"),
    "hcloud": Service(depth=3, valued=_GLOBAL, stops="server poweroff;server shutdown"),
    "oci": Service(depth=7, valued=_GLOBAL, secrets="secrets secret-bundle get;iam auth-token create"),
    "ibmcloud": Service(depth=5, secrets="iam oauth-tokens"),
    "aliyun": Service(depth=2, at=1, valued=_GLOBAL, secrets="kms GetSecretValue"),
    "scw": Service(depth=4, secrets="secret version access;iam api-key create"),
    "openstack": Service(depth=4, secrets="token issue"),
    "vultr-cli": Service(depth=4),
    "exo": Service(depth=4),
    "ovhcloud": Service(depth=4),
    "eksctl": Service(depth=2, valued=_GLOBAL),
    **dict.fromkeys("copilot amplify".split(), Service(depth=3, runs="svc exec")),
    "eb": Service(depth=2, stops="abort;restart", changes="use"),
    "sam": Service(depth=2),
    "cdk": Service(kind="infra", depth=2, valued="a app c context profile o output", reads="synth;synthesize;ls"),
    "serverless": Service(kind="infra", depth=2),
    "sls": Service(kind="infra", depth=2),
    # Platforms
    **dict.fromkeys(
        "fly flyctl".split(),
        Service(
            depth=4,
            valued="a app C command c config g group o org r region t access-token u user container machine",
            runs="ssh console",
            secrets="auth token;tokens create",
            destroys="secrets unset",
        ),
    ),
    "heroku": Service(
        depth=2,
        valued="a app e env r remote s size type team",
        destroys="pg:reset;apps:destroy;apps:delete;config:unset;addons:destroy;pg:restore;pg:backups:delete;pg:push;"
        "destroy",
        stops="maintenance:on;ps:stop;releases:rollback;rollback",
        secrets="config;config:get;auth:token;pg:credentials:url;authorizations:create",
        runs="run",
        reads="pg:psql;pg:info",
    ),
    "vercel": Service(
        depth=3, secrets="env pull;env ls +decrypt", stops="rollback;promote", valued="token t scope S cwd"
    ),
    "netlify": Service(depth=3, secrets="env:get;env:list;env:clone", runs="dev:exec", valued="auth filter"),
    "railway": Service(depth=3, destroys="down", secrets="variables;variable list", runs="run"),
    "render": Service(depth=3),
    "wrangler": Service(depth=5, valued="c config env e cwd", stops="rollback", reads="dev;tail;types"),
    "firebase": Service(
        depth=2,
        valued="project P token",
        destroys="database:remove",
        stops="hosting:disable",
        secrets="functions:secrets:access;login:ci",
    ),
    "supabase": Service(
        depth=3,
        destroys="db reset;db push +include-all;stop +no-backup",
        secrets="projects api-keys;secrets list",
        stops="stop",
    ),
    "cf": Service(
        depth=1,
        destroys="d;ds;delete-org;delete-space;unmap-route;us;unbind-service",
        stops="sp",
        reads="apps;a;services;s;app;env;t;target;orgs;spaces;routes",
        secrets="oauth-token;ssh-code;service-key",
    ),
    "fastly": Service(depth=4, valued="token t", destroys="purge", secrets="auth-token create;profile token"),
    "akamai": Service(depth=3),
    # Forges and pipelines
    "circleci": Service(depth=3, valued="host token"),
    "gitlab-runner": Service(depth=1),
    "buildkite-agent": Service(depth=3, secrets="secret get"),
    "bk": Service(depth=3),
    "jenkins-cli": Service(
        depth=1,
        valued="s auth i user webSocket logger",
        destroys="quiet-down",
        stops="safe-shutdown;shutdown;safe-restart",
    ),
    "argocd": Service(depth=3, valued=_GLOBAL, destroys="app sync +prune", stops="app terminate-op;app rollback"),
    "flux": Service(depth=3, valued="n namespace context kubeconfig"),
    "tkn": Service(depth=3, valued="n namespace c context"),
    "drone": Service(depth=3, stops="build stop;build kill"),
    "travis": Service(depth=2, secrets="token", destroys="cache +delete", valued="r repo"),
    # Secrets
    "vault": Service(
        kind="secrets",
        depth=3,
        valued="namespace address token header",
        destroys="kv destroy;kv metadata delete;secrets disable;auth disable;audit disable;lease revoke;token revoke;"
        "operator seal;operator rekey;operator raft remove-peer;namespace delete;kv delete;delete",
        stops="secrets move;operator step-down;operator rotate;audit disable",
        changes="write;kv put;kv patch;kv undelete;kv rollback;unwrap;secrets enable",
        secrets="read;kv get;unwrap;token create;print token;operator init;operator generate-root",
        reads="login;status;version;operator members;kv list;list;kv metadata get;policy read;token lookup;path-help",
    ),
    "bao": Service(
        kind="secrets",
        depth=3,
        valued="namespace address token",
        destroys="secrets disable;auth disable;operator seal;kv destroy",
        secrets="read;kv get;unwrap;token create;operator init",
        reads="policy read",
    ),
    "op": Service(
        kind="secrets",
        depth=3,
        valued="account vault session config env-file",
        secrets="read;item get +reveal;item get +fields|otp;document get;inject;item get +share-link",
        runs="run",
        reads="signin;account add;update;completion",
    ),
    "bws": Service(kind="secrets", depth=3, secrets="secret get;secret list", runs="run"),
    "doppler": Service(
        kind="secrets",
        depth=3,
        valued="p project c config t token scope command mount mount-format fallback",
        secrets="secrets;secrets get;secrets list;secrets download;configs tokens create",
        reads="configure;open;me;setup;login;update",
        runs="run",
    ),
    "infisical": Service(
        kind="secrets",
        depth=3,
        valued="env path projectId token",
        secrets="secrets;secrets get;export;user get token",
        runs="run",
    ),
    "chamber": Service(
        kind="secrets",
        depth=1,
        secrets="read;export;env;history -x",
        runs="exec",
        valued="b backend",
        reads="list;find",
    ),
    "sops": Service(
        kind="secrets",
        depth=1,
        secrets="decrypt;exec-env;exec-file;+d;+decrypt;+extract",
        reads="filestatus;encrypt;updatekeys",
        changes="edit;rotate",
    ),
    "aws-vault": Service(
        kind="secrets", depth=1, runs="exec", secrets="export", reads="list;login", valued="d duration region"
    ),
    "conjur": Service(kind="secrets", depth=3, secrets="variable get"),
    "akeyless": Service(kind="secrets", depth=1, secrets="get-secret-value;get-dynamic-secret-value"),
    "berglas": Service(kind="secrets", depth=1, secrets="access", runs="exec"),
    # Monitoring, flags, money, mail, identity
    "datadog-ci": Service(depth=3),
    "sentry-cli": Service(depth=3, valued="url auth-token o org p project"),
    "newrelic": Service(depth=4, secrets="apiAccess apiAccessGetKey"),
    "pd": Service(depth=2),
    "pagerduty": Service(depth=2),
    "grafana-cli": Service(
        depth=3, valued="homepath config configOverrides pluginsDir", stops="admin reset-admin-password"
    ),
    "grafana": Service(depth=4),
    "promtool": Service(depth=3, reads="check;query;test;tsdb analyze;tsdb list;tsdb dump"),
    "amtool": Service(depth=3, stops="silence add;silence expire"),
    "logcli": Service(depth=1, reads="query;labels;series"),
    "splunk": Service(depth=2, destroys="clean"),
    "stripe": Service(
        depth=3, valued="api-key p project-name", stops="payment_intents cancel", destroys="subscriptions cancel"
    ),
    "square": Service(depth=3),
    "braintree": Service(depth=3),
    "twilio": Service(depth=3),
    "sendgrid": Service(depth=3),
    "okta": Service(depth=3),
    "auth0": Service(depth=3, secrets="apps show +reveal-secrets|r"),
    "apigeecli": Service(depth=3, valued="a account t token o org", secrets="token gen"),
    "apigee": Service(depth=3),
    "kong": Service(depth=2, destroys="migrations reset", stops="quit;reload", reads="check;health"),
    "deck": Service(
        depth=2,
        destroys="sync;gateway sync;reset;gateway reset",
        reads="file;validate;diff;gateway diff;dump;gateway dump;ping",
    ),
    "ldcli": Service(depth=3, valued="access-token base-uri o output"),
    "flipt": Service(depth=3),
    "unleash": Service(depth=2, changes="features disable;features enable"),
    "algolia": Service(depth=3, valued="p profile application-id api-key"),
    "wandb": Service(depth=3, valued="entity e project p"),
    "mlflow": Service(depth=3, destroys="gc;db downgrade", reads="ui;server"),
    "dvc": Service(kind="data", depth=2, destroys="gc;destroy;remove", changes="checkout;repro;pull;push;add"),
    "huggingface-cli": Service(depth=3, destroys="repo delete;delete-cache;repo-files delete"),
    "hf": Service(depth=3, destroys="repo delete;cache delete;repo-files delete"),
    "databricks": Service(
        depth=4, valued="profile p o output", secrets="secrets get-secret;auth token", destroys="fs rm"
    ),
    "confluent": Service(depth=5, valued="environment cluster", secrets="api-key create"),
    "temporal": Service(depth=4, valued="address n namespace", stops="workflow terminate;workflow cancel"),
    "airflow": Service(
        kind="data",
        depth=3,
        destroys="db reset;db clean;dags delete;tasks clear",
        secrets="connections get;connections export;variables export",
    ),
    "consul": Service(
        kind="data",
        depth=3,
        destroys="kv delete;leave;force-leave;snapshot restore",
        stops="maint;lock",
        secrets="acl bootstrap;acl token create",
    ),
    "nomad": Service(
        depth=4, stops="job stop;stop;node drain;job revert", destroys="system gc;job stop +purge;stop +purge"
    ),
    "boundary": Service(depth=3, secrets="credentials read"),
    # Stores and queues
    "etcdctl": Service(
        kind="data",
        depth=2,
        valued="endpoints cacert cert key user w write-out",
        destroys="defrag;compact;snapshot restore",
    ),
    "kafka-topics": Service(kind="data", depth=0, flags="delete alter create list describe"),
    "kafka-configs": Service(kind="data", depth=0, flags="delete-config alter add-config describe"),
    "kafka-consumer-groups": Service(kind="data", depth=0, flags="delete delete-offsets reset-offsets list describe"),
    "kafka-acls": Service(kind="data", depth=0, flags="remove add list"),
    "kafka-delete-records": Service(kind="data", depth=0, flags="offset-json-file"),
    "kafka-streams-application-reset": Service(kind="data", depth=0, flags="application-id"),
    "kafka-reassign-partitions": Service(kind="data", depth=0, flags="execute cancel verify generate"),
    "kafka-leader-election": Service(kind="data", depth=0, flags="election-type"),
    "kafka-storage": Service(kind="data", depth=1, destroys="format"),
    "rpk": Service(kind="data", depth=3, valued="brokers X profile", stops="cluster maintenance enable"),
    "kcat": Service(kind="data", depth=0, flags="P"),
    "rabbitmqctl": Service(
        kind="data",
        depth=1,
        valued="n node q p vhost t timeout",
        stops="stop;stop_app;shutdown;hipe_compile",
        destroys="force_reset;reset;forget_cluster_node",
    ),
    "rabbitmqadmin": Service(kind="data", depth=1, valued="H host P port u username p password V vhost c config"),
    "nats": Service(
        kind="data",
        depth=3,
        valued="s server user password creds context",
        reads="bench;rtt;sub;kv ls;account info",
        changes="pub;req",
    ),
    "pulsar-admin": Service(kind="data", depth=3, valued="admin-url"),
    "cockroach": Service(kind="data", depth=2, destroys="node decommission;debug reset-quorum"),
    "nodetool": Service(
        kind="data",
        depth=1,
        valued="h host p port u pw",
        destroys="clearsnapshot;removenode;decommission;assassinate;truncatehints",
        stops="drain",
    ),
    "couchbase-cli": Service(kind="data", depth=1, destroys="bucket-flush;bucket-delete;server-eshell"),
    "curator_cli": Service(kind="data", depth=1, destroys="delete_indices;delete_snapshots"),
    "hdfs": Service(kind="data", depth=1, flags="rm rmr expunge rmdir deleteSnapshot skipTrash"),
    "hadoop": Service(kind="data", depth=1, flags="rm rmr expunge rmdir"),
    "hbase": Service(kind="data", depth=2),
    "hasura": Service(
        kind="data",
        depth=3,
        destroys="metadata clear;database drop",
        stops="migrate apply +down",
        changes="migrate apply",
    ),
    # Backups
    "restic": Service(
        kind="backup",
        depth=2,
        valued="r repo p password-file password-command cache-dir o option",
        destroys="forget;prune;key remove;unlock +remove-all;cache +cleanup;rewrite +forget;repair snapshots +forget",
        reads="snapshots;mount;dump;find;diff;stats;key list;unlock",
        changes="restore;backup;copy",
        dry="n",
    ),
    "borg": Service(
        kind="backup",
        depth=1,
        valued="remote-path rsh lock-wait",
        destroys="delete;prune;compact;recreate;break-lock;rcompress;rdelete",
        reads="mount;umount;list;info;check;diff;export-tar",
        dry="n",
    ),
    "borgmatic": Service(kind="backup", depth=1, destroys="prune;compact;delete;borg", dry="n"),
    "kopia": Service(kind="backup", depth=3, destroys="snapshot expire;blob gc;maintenance run +full;content delete"),
    "duplicity": Service(
        kind="backup",
        depth=1,
        destroys="remove-older-than;remove-all-but-n-full;remove-all-inc-of-but-n-full;cleanup",
        reads="collection-status;list-current-files",
    ),
    "velero": Service(kind="backup", depth=2, valued="n namespace kubeconfig kubecontext"),
    "rdiff-backup": Service(kind="backup", depth=1, flags="remove-older-than"),
    "tarsnap": Service(kind="backup", depth=0, flags="d nuke"),
    "rsnapshot": Service(kind="backup", depth=1),
    "duplicacy": Service(kind="backup", depth=1),
    "wal-g": Service(kind="backup", depth=2),
    "pgbackrest": Service(
        kind="backup", depth=1, valued="stanza config", destroys="expire;stanza-delete", stops="stop"
    ),
    "barman": Service(kind="backup", depth=1),
    "tmutil": Service(
        kind="backup", depth=1, destroys="deletelocalsnapshots;thinlocalsnapshots", stops="disable;disablelocal"
    ),
    "snapper": Service(kind="backup", depth=1, valued="c config", stops="undochange;rollback"),
    "timeshift": Service(kind="backup", depth=0, flags="delete delete-all restore"),
}
