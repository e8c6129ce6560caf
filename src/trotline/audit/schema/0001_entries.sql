CREATE TABLE entries (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  salt TEXT,
  body TEXT,
  salted TEXT NOT NULL,
  digest TEXT NOT NULL,
  UNIQUE (id, kind)
);

CREATE TABLE checkpoints (
  seq INTEGER PRIMARY KEY,
  digest TEXT NOT NULL
);

CREATE TABLE unread (
  place TEXT PRIMARY KEY,
  why TEXT NOT NULL,
  line BLOB NOT NULL
);

CREATE TABLE records (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  at_us INTEGER NOT NULL,
  host TEXT NOT NULL,
  event TEXT NOT NULL,
  conversation TEXT NOT NULL,
  verdict TEXT NOT NULL,
  command TEXT NOT NULL,
  own INTEGER NOT NULL
);

CREATE INDEX records_at ON records (at_us);

CREATE INDEX records_conversation ON records (conversation);

CREATE INDEX records_verdict ON records (verdict, seq);

CREATE TABLE facts (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (kind, name, seq)
) WITHOUT ROWID;

CREATE INDEX facts_seq ON facts (seq);

CREATE VIRTUAL TABLE words USING fts5 (text)
