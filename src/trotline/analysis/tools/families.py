"""Which family knows a program; made by scripts/generate.py from the families themselves."""

FAMILIES = {
    "agents": "aider amp claude claude-code cline cline-core codex codex-exec cursor-agent droid gemini gemini-cli "
    "opencode opencode-ai qwen qwen-code",
    "archives": "7z 7za 7zr 7zz ar bsdtar cpio genisoimage gtar jar mksquashfs p7zip rar tar unrar unzip zip",
    "builds": "c++ cc clang clang++ cmake g++ gcc gfortran gmake gradle gradlew just lein mage make mvn mvnw ninja sbt "
    "task",
    "builtins": ". : [ alias bind builtin cd chdir command complete declare echo enable eval exec export false hash "
    "let local mapfile popd printf pushd pwd read readarray readonly set shift source test trap true type typeset "
    "unalias unset which yes",
    "carriers": "arch at batch caffeinate catchsegv chronic chroot chrt crontab dbus-run-session direnv doas dotenv "
    "eatmydata entr env fakeroot faketime firejail flock gosu ionice linux32 linux64 ltrace nice nohup nsenter "
    "numactl parallel pkexec printenv prlimit proxychains proxychains4 rlwrap runuser script setarch setpriv setsid "
    "softlimit ssh ssh-agent stdbuf strace su sudo systemd-inhibit systemd-run taskset time timeout torsocks tsocks "
    "unbuffer unshare valgrind watch with-contenv xargs xvfb-run",
    "containers": "colima crictl docker docker-compose docker-machine finch incus k3d kind lima limactl lxc microk8s "
    "minikube multipass nerdctl orb podman podman-compose prlctl vagrant vboxmanage virsh",
    "databases": "alter bcp beeline bq clickhouse clickhouse-client cockroach cqlsh delete drop dropdb dropuser duckdb "
    "grant heroku hive impala-shell litecli mariadb mariadb-admin mariadb-dump mongodump mongorestore mycli "
    "mydumper mysql mysqladmin mysqldump mysqlsh pg_dump pg_dumpall pg_restore pgcli presto psql revoke snow "
    "snowsql spark-sql sqlcmd sqlite3 sqlplus trino turso usql wrangler ysqlsh",
    "disks": "badblocks blkdiscard btrfs cfdisk cryptsetup debugfs diskutil dmsetup fdformat fdisk format gdisk gpart "
    "hdiutil hdparm lvreduce lvremove mdadm mke2fs mkfs mkfs.bcachefs mkfs.bfs mkfs.btrfs mkfs.cramfs mkfs.exfat "
    "mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.f2fs mkfs.fat mkfs.jfs mkfs.minix mkfs.msdos mkfs.nilfs2 mkfs.ntfs "
    "mkfs.reiserfs mkfs.udf mkfs.vfat mkfs.xfs mkfs.zfs mkswap mount newfs newfs_apfs newfs_hfs nvme parted "
    "pvremove resize2fs sfdisk sgdisk swapoff tune2fs umount vgreduce vgremove wipefs zfs zpool",
    "editors": "busybox code code-insiders codium cpulimit cursor dotool ed emacs emacsclient ex expect gdb gvim kiro "
    "ld-linux-aarch64.so.1 ld-linux-x86-64.so.2 ld-linux.so ld.so lldb logsave lvm m4 man nvim positron run-parts "
    "rvim screen start-stop-daemon tmux toybox trae vi vim vimdiff vscodium windsurf wtype xdotool ydotool",
    "fd": "fd fdfind",
    "files": "basename chattr chgrp chmod chown cp dd del dirname erase gio grm gvfs-trash install ln mkdir mkfifo "
    "mktemp mv rd readlink realpath rm rmdir rmtrash sdelete sed shred sponge srm tee touch trash trash-put "
    "truncate unlink wipe",
    "find": "find gfind",
    "forges": "gh glab hub tea",
    "git": "git git-filter-repo git-lfs git-receive-pack git-upload-pack",
    "infrastructure": "ansible ansible-playbook ansible-pull ansible-vault bosh cdktf cfn chef-client clush crossplane "
    "dagger juju knife kops kubeadm nixops packer parallel-ssh pdsh pssh pulumi puppet salt salt-call salt-ssh "
    "talosctl terraform terragrunt tofu waypoint",
    "interpreters": "R Rscript bpython elixir ghc ghci gnuplot groovy ipython ipython3 irb java jshell julia jython "
    "lua luajit micropython node nodejs octave octave-cli perl php py pypy pypy3 python python2 python3 pythonw "
    "ruby runghc runhaskell scala swift ts-node tsx",
    "keyrings": "bw coredumpctl gcore gopass impacket-secretsdump keepassxc-cli keyctl keyring kinit kwallet-query "
    "kwalletcli lazagne lpass lsassy mimikatz minidump nanodump nmcli nordpass-cli pass procdump procdump64 "
    "pypykatz rbw safetykatz secret-tool secretsdump.py security sharpdpapi wg",
    "kubernetes": "helm helm3 helmfile k kubecolor kubectl kubectl-ns kustomize oc",
    "migrations": "ace aerich alembic artisan atlas console dbmate diesel django-admin dotnet-ef drizzle-kit drush "
    "ecto ent flask flyway gitlab-rails goose knex liquibase manage.py migrate mikro-orm payload phinx prisma rails "
    "rake sea-orm-cli sequelize sequelize-cli sqitch sqlx typeorm typeorm-ts-node-commonjs wp yii",
    "network": "age aircrack-ng amass arp-scan assetfinder beef-xss bettercap bloodhound-python bore chisel "
    "cloudflared crackmapexec darkhttpd devtunnel dirb dnsenum dnsrecon dnsx dsniff dumpcap enum4linux "
    "enum4linux-ng ettercap feroxbuster ffuf fierce fping frpc gnome-screenshot gobuster gotty gpg gpg2 grim "
    "hashcat hping3 http-server hydra iodine john ldeep localtunnel lt mail mailx maim masscan medusa miniserve "
    "msfconsole msfvenom msmtp mutt nbtscan neomutt ngrep ngrok nikto nmap nuclei osascript pagekite patator pbcopy "
    "pbpaste recon-ng responder rustscan s-nail screencapture scrot searchsploit sendmail serve spectacle sqlmap "
    "ssh-add ssh-copy-id ssh-keygen ssh-keyscan ssmtp subfinder swaks tailscale tcpdump theharvester tmate tshark "
    "ttyd unicornscan upterm webfsd wfuzz whatweb windapsearch wireshark wl-copy wl-paste wpscan xclip xsel zmap "
    "zrok",
    "npm_programs": "concurrently cross-env cross-env-shell del-cli nodemon rimraf shx",
    "objects": "aws az azcopy b2 gcloud gsutil mc rclone s3cmd s5cmd",
    "own": "agentshield cc-safety-net cupcake dcg gryph nah omamori rampart tirith trotline",
    "packages": "add-apt-repository apk apt apt-add-repository apt-get aptitude asdf brew bun bundle bundler bunx "
    "cabal cargo changeset choco composer conan conda cpanm dart deno dnf dotnet dpkg flatpak flit flutter fnm gem "
    "go hatch jsr lerna luarocks mamba microdnf micromamba mise mix nix-collect-garbage np npm npx nuget nvm opam "
    "ovsx pacman paru pdm pip pip3 pipenv pipx pkg pnpm pnpx pod poetry port pyenv rbenv rpm rustup scoop "
    "semantic-release snap twine uv uvx volta vsce winget yarn yay yum zypper",
    "postgres": "pg_dropcluster pg_resetwal pg_resetxlog",
    "powershell": "add-adgroupmember add-content add-localgroupmember add-mppreference clear-content clear-disk "
    "clear-eventlog clear-recyclebin copy-item disable-adaccount disable-localuser disable-netadapter "
    "disable-netfirewallrule enable-localuser export-csv foreach-object format-volume gci get-childitem get-content "
    "get-process icm iex initialize-disk invoke-command invoke-expression invoke-restmethod invoke-sqlcmd "
    "invoke-webrequest irm iwr measure-command move-item new-aduser new-azroleassignment new-item new-itemproperty "
    "new-localgroup new-localuser new-netfirewallrule new-object new-service out-file out-null powershell "
    "powershell_ise pwsh pwsh-preview register-scheduledtask remove-adcomputer remove-adgroup remove-adgroupmember "
    "remove-adobject remove-adorganizationalunit remove-aduser remove-azakscluster remove-azappserviceplan "
    "remove-azcontainerregistry remove-azcosmosdbaccount remove-azdisk remove-azdnszone remove-azfunctionapp "
    "remove-azkeyvault remove-azkeyvaultkey remove-azkeyvaultsecret remove-aznetworksecuritygroup "
    "remove-azpublicipaddress remove-azrecoveryservicesvault remove-azrediscache remove-azresource "
    "remove-azresourcegroup remove-azresourcelock remove-azsnapshot remove-azsqldatabase remove-azsqlinstance "
    "remove-azsqlserver remove-azstorageaccount remove-azstorageblob remove-azstoragecontainer "
    "remove-azstorageshare remove-azstoragetable remove-azvirtualnetwork remove-azvm remove-azvmss remove-azwebapp "
    "remove-item remove-itemproperty remove-localgroup remove-localgroupmember remove-localuser "
    "remove-netfirewallrule remove-netipaddress remove-netroute remove-partition rename-item restart-computer ri "
    "saps select-object set-adaccountpassword set-content set-dnsclientserveraddress set-executionpolicy "
    "set-itemproperty set-localuser set-mppreference set-netfirewallprofile set-netfirewallrule set-netipinterface "
    "sort-object spps start-bitstransfer start-job start-process stop-azakscluster stop-azfunctionapp stop-azvm "
    "stop-azvmss stop-azwebapp stop-computer stop-process stop-service tee-object where-object write-host "
    "write-output",
    "readers": "awk b2sum bat cat cksum cmp column comm cut diff du egrep expand fgrep file fmt fold gawk grep head "
    "hexdump hexyl join jq less ls mawk md5sum more nawk nl od paste rg sha1sum sha256sum shasum sort stat strings "
    "sum tac tail tree unexpand uniq view wc yq zgrep zless",
    "rewriters": "chrpath codesign fallocate install_name_tool llvm-objcopy llvm-strip objcopy patch patchelf strip",
    "servers": "apache2ctl apachectl caddy haproxy httpd nginx openresty tengine varnishadm",
    "services": "airflow akamai akeyless algolia aliyun amplify amtool apigee apigeecli argocd auth0 aws-vault bao "
    "barman berglas bk borg borgmatic boundary braintree buildkite-agent bws cdk cf chamber circleci confluent "
    "conjur consul convex copilot couchbase-cli curator_cli databricks datadog-ci deck doctl dokku doppler drone "
    "duplicacy duplicity dvc eb eksctl etcdctl exo fastly firebase flipt flux fly flyctl gitlab-runner grafana "
    "grafana-cli hadoop hasura hbase hcloud hdfs hf huggingface-cli ibmcloud infisical istioctl jenkins-cli "
    "jenkins-cli.jar kafka-acls kafka-acls.sh kafka-configs kafka-configs.sh kafka-consumer-groups "
    "kafka-consumer-groups.sh kafka-delete-records kafka-delete-records.sh kafka-leader-election "
    "kafka-leader-election.sh kafka-reassign-partitions kafka-reassign-partitions.sh kafka-storage kafka-storage.sh "
    "kafka-streams-application-reset kafka-streams-application-reset.sh kafka-topics kafka-topics.sh kcat kong "
    "kopia ldcli linode-cli logcli mlflow nats neon neonctl netlify newrelic nodetool nomad oci okta op openstack "
    "ovhcloud pagerduty pd pgbackrest promtool pscale pulsar-admin rabbitmqadmin rabbitmqctl railway rdiff-backup "
    "render restic rpk rsnapshot sam scw sendgrid sentry-cli serverless sls snapper sops split splunk square stripe "
    "supabase tarsnap temporal timeshift tkn tmutil travis twilio unleash vault velero vercel vultr-cli wal-g wandb",
    "settings": "arp busctl date dbus-send defaults dscl fc gdbus history hostname hostnamectl ifconfig ip ip6tables "
    "ip6tables-restore iptables iptables-restore journalctl nft route setfacl sysctl timedatectl xattr",
    "shells": "ash base32 base64 bash bunzip2 bzcat bzip2 csh dash fish gunzip gzip ksh mksh openssl rbash rev sh tcsh "
    "tr unxz xxd xz xzcat zcat zsh zstd zstdcat",
    "sockets": "dig drill ftp host lftp nc ncat ncftpput netcat nslookup ping ping6 rlogin sftp smbclient socat telnet "
    "tftp traceroute whois ztcp",
    "stores": "cypher-shell dragonfly-cli influx keydb-cli memcflush memcrm mongo mongosh redis-cli valkey-cli",
    "system": "aa-complain aa-disable aa-teardown addgroup adduser apparmor_parser auditctl bpftool chage chkconfig "
    "chpasswd chsh csrutil delgroup deluser depmod dmesg dseditgroup efibootmgr fdesetup firewall-cmd gpasswd "
    "groupadd groupdel groupmod grub-install halt init insmod kexec kextload kextunload kill killall kmod kmutil "
    "launchctl loginctl logrotate modprobe newgrp newusers nvram passwd pfctl pg_ctl pivot_root pkill pm2 pmset "
    "poweroff ps rc-service rc-update reboot restorecon rmmod semanage service setcap setenforce setsebool shutdown "
    "skill softwareupdate spctl supervisorctl sysadminctl systemctl systemsetup tccutil telinit ufw update-rc.d "
    "useradd userdel usermod vipw visudo",
    "tcl": "tclsh wish",
    "trees": "rsync scp",
    "ways": "adb autossh bwrap cargo-watch devbox distrobox distrobox-enter dotenvx dumb-init elvish envchain fab "
    "flatpak-spawn foreman guix hg honcho hyperfine ifne incus lxc mosh mprocs nix nix-shell nu osh perf pixi pueue "
    "qemu-aarch64 qemu-arm qemu-i386 qemu-x86_64 retry rye sail sshpass teller tini toolbox tsp watchexec wine "
    "wine64 wsl xonsh ysh",
    "web": "aria2c axel curl curlie elinks fetch grpcurl http https links lynx open sensible-browser w3m websocat wget "
    "wget2 wscat xdg-open xh xhs youtube-dl yt-dlp",
    "windows": "bcdedit bitsadmin certutil cipher cmdkey cscript forfiles icacls msbuild mshta msiexec net net1 netsh "
    "reagentc reg regsvr32 rundll32 sc schtasks start takeown taskkill vssadmin wbadmin wevtutil wmic wscript",
    "windows_cmd": "cmd copy move ren xcopy",
    "windows_disks": "diskpart fsutil manage-bde ntdsutil robocopy",
}
