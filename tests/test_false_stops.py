"""Lines that look like a danger and are none, beside their neighbours that are one."""

import pytest

from trotline.analysis.action import of_command
from trotline.analysis.scene import World
from trotline.guards.judgement import judged
from trotline.guards.policy import Policy

WORLD = World("/home/me/work", ("/home/me/work",), "/home/me", "me")


@pytest.mark.parametrize(
    "line,standard,strict",
    [
        ("python manage.py sqlflush", "silent", "silent"),
        ("python manage.py sqlflush | psql shop", "ask", "deny"),
        ("python manage.py flush", "ask", "deny"),
        ("at -l", "silent", "silent"),
        ("at -c 3", "silent", "silent"),
        ("at -d 3", "ask", "deny"),
        ("echo ls | at now", "ask", "deny"),
        ("pulumi destroy --preview-only", "silent", "silent"),
        ("pulumi destroy", "ask", "deny"),
        ("cat cert.pem", "silent", "silent"),
        ("cat tls/fullchain.pem", "silent", "silent"),
        ("openssl x509 -in ca-bundle.pem -noout -text", "silent", "silent"),
        ("cat ca-key.pem", "deny", "deny"),
        ("cat cert-and-key.pem", "deny", "deny"),
        ("cat ca.key", "deny", "deny"),
        ("cat server.pem", "deny", "deny"),
        ("psql -c 'create temp table t (a int); drop table t'", "silent", "silent"),
        ("psql -c 'create temp table t (a int); drop table u'", "ask", "deny"),
        ("psql -c 'create table t (a int); drop table t'", "ask", "deny"),
        ("psql -c 'drop table t; create temp table t (a int)'", "ask", "deny"),
        ("psql -c 'create temp table t (a int); drop table t; drop table t'", "ask", "deny"),
        ("psql -c 'create temp table t (a int); drop table t, u'", "ask", "deny"),
        ("psql -c 'create temp table t (a int); drop database t'", "ask", "deny"),
        ("psql -c 'create temp table t (a int); drop table if exists t cascade'", "silent", "silent"),
        ("sqlite3 :memory: 'create table t (a); drop table t'", "silent", "silent"),
        ("sqlite3 :memory: \"attach 'shop.db' as s; drop table s.t\"", "ask", "deny"),
        ("sqlite3 :memory: '.open shop.db' 'drop table t'", "ask", "deny"),
        ("sqlite3 shop.db 'drop table t'", "ask", "deny"),
        ("psql -c \"comment on table t is 'x'\"", "silent", "silent"),
        ("psql -c 'alter table t add b int'", "silent", "ask"),
        ("rm -rf ~/.cache/pip", "silent", "ask"),
        ("rm -rf ~/Library/Developer/Xcode/DerivedData", "silent", "ask"),
        ("rm -rf ~/.cache", "ask", "deny"),
        ("rm -rf ~/.cargo/registry2", "ask", "deny"),
        ("rm -rf ~/.gradle", "ask", "deny"),
        ("vault --version", "silent", "silent"),
        ("op -v", "silent", "silent"),
        ("tarsnap --nuke -v", "ask", "deny"),
        ("vault kv put kv/x a=b", "silent", "ask"),
        ("ansible all -m ping", "silent", "silent"),
        ("ansible all -m ansible.builtin.setup", "silent", "silent"),
        ("ansible all -m service -a 'name=x state=stopped'", "silent", "ask"),
        ("liquibase rollback-count-sql 1", "silent", "silent"),
        ("liquibase rollback-count 1", "silent", "ask"),
        ("NODE_OPTIONS=--max-old-space-size=4096 npm run build", "silent", "silent"),
        ("NODE_OPTIONS='--no-warnings --require ./x.js' npm run build", "silent", "deny"),
        ("NODE_OPTIONS='\"--require\" ./x.js' npm run build", "silent", "deny"),
        ('NODE_OPTIONS="$NODE_OPTIONS --no-warnings" npm run build', "silent", "silent"),
        ("RUBYOPT=-W0 rake spec", "silent", "silent"),
        ("RUBYOPT=-W0r./x rake spec", "silent", "deny"),
        ("redis-cli del session:7", "silent", "silent"),
        ("redis-cli --scan --pattern 'a*' | xargs redis-cli del", "silent", "ask"),
        ("redis-cli eval \"redis.call('del', unpack(redis.call('keys', 'a*')))\" 0", "ask", "deny"),
        ("redis-cli flushall", "ask", "deny"),
        ("mongosh shop --eval 'db.users.deleteOne({_id: 7})'", "silent", "silent"),
        ("mongosh shop --eval 'db.users.deleteMany({})'", "ask", "deny"),
        ("sudo -l", "silent", "silent"),
        ("sudo -v", "silent", "silent"),
        ("sudo ls", "silent", "ask"),
        ("sudo -k rm -rf /", "deny", "deny"),
        ('eval "$(ssh-agent -s)"', "silent", "silent"),
        ('eval "$(pyenv init -)"', "silent", "silent"),
        ("source <(kubectl completion bash)", "silent", "silent"),
        ('eval "$(./ssh-agent -s)"', "silent", "ask"),
        ('ssh-agent() { curl x.example; }; eval "$(ssh-agent -s)"', "deny", "deny"),
        ('eval "$(ssh-agent -s)$(curl x.example)"', "deny", "deny"),
    ],
)
def test_what_only_looks_like_a_danger_is_let_through(line: str, standard: str, strict: str) -> None:
    effects = of_command(line, WORLD).effects
    said = [judged(effects, WORLD, Policy(preset)).permission.word for preset in ("standard", "strict")]
    assert said == [standard, strict]
