"""Further services, of databases and applications that somebody else runs; rows as in `services.py`."""

from trotline.analysis.services import Service

_NEON = Service(
    depth=2,
    valued="project-id org-id api-key o output context-file config-dir",
    destroys="branches reset;branches restore",
    secrets="connection-string;cs;api-keys create",
    reads="me;orgs;auth;set-context;connection-string;cs",
)

PLATFORMS = {
    "convex": Service(
        depth=2,
        destroys="import +replace;import +replace-all;disable",
        secrets="env get;env list",
        reads="data;logs;dashboard;docs;codegen;env get;env list",
        changes="dev;deploy;run;import;env set",
    ),
    "dokku": Service(
        depth=1,
        valued="app remote",
        destroys="cleanup;config:clear",
        stops="ps:stop;ps:restart;ps:rebuild;maintenance:enable;proxy:disable",
        changes="ps:start;run;enter;git:sync",
        secrets="config;config:show;config:get;config:export;config:bundle",
        reads="logs;ps:report;ps:inspect;apps:exists;version",
    ),
    "istioctl": Service(
        depth=3,
        valued="n namespace i istioNamespace c kubeconfig context",
        reads="analyze;proxy-status;ps;proxy-config;pc;version;verify-install;validate;manifest;profile;dashboard;d;bug-report",
    ),
    "neon": _NEON,
    "neonctl": _NEON,
    "pscale": Service(
        depth=3,
        valued="org f format service-token service-token-id api-url config",
        destroys="branch demote;data-imports cancel;keyspace resize cancel",
        stops="deploy-request revert;deploy-request skip-revert",
        changes="shell;connect;branch promote;deploy-request deploy;database restore-dump",
        secrets="password create;password renew;service-token create",
    ),
}
