-- The chained entries: records, their details and tombstones.
CREATE TABLE IF NOT EXISTS entries (
  seq INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  salt TEXT,
  body TEXT,
  salted TEXT NOT NULL,
  digest TEXT NOT NULL,
  UNIQUE (id, kind)
);

CREATE TABLE IF NOT EXISTS checkpoints (
  seq INTEGER PRIMARY KEY,
  digest TEXT NOT NULL
);

-- Lines of the spool that could not be read. Retention by age uses the time at which they arrived.
CREATE TABLE IF NOT EXISTS unread (
  place TEXT PRIMARY KEY,
  why TEXT NOT NULL,
  line BLOB NOT NULL,
  at_us INTEGER NOT NULL
);

-- Everything below is an index over the entries: reindex.sql fills it.
CREATE TABLE records (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  at_us INTEGER NOT NULL,
  agent TEXT NOT NULL,
  event TEXT NOT NULL,
  conversation TEXT NOT NULL,
  verdict TEXT NOT NULL,
  command TEXT NOT NULL,
  is_self_test INTEGER NOT NULL
);

CREATE INDEX records_at ON records (at_us);

CREATE INDEX records_conversation ON records (conversation);

CREATE INDEX records_verdict ON records (verdict, seq);

CREATE INDEX records_event ON records (event, is_self_test);

CREATE INDEX records_agent ON records (agent, is_self_test);

CREATE INDEX records_self_test ON records (seq) WHERE is_self_test = 1;

CREATE TABLE facts (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (kind, name, seq)
) WITHOUT ROWID;

CREATE INDEX facts_seq ON facts (seq);

-- The full-text index.
CREATE VIRTUAL TABLE words USING fts5 (text);

-- For every hundred entries: the earliest time in them and after them, and the latest time in them and before them.
-- Both only grow, even when a record arrives late, so a time can be looked up as a position in the log.
CREATE TABLE spans (
  number INTEGER PRIMARY KEY,
  first_us INTEGER NOT NULL,
  last_us INTEGER NOT NULL
);

CREATE INDEX spans_first ON spans (first_us);

CREATE INDEX spans_last ON spans (last_us);

-- The metrics of a record: durations, sizes, changed lines. New rows go to the end of their kind and name.
CREATE TABLE metrics (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  seq INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY (kind, name, seq, turn)
) WITHOUT ROWID;

CREATE INDEX metrics_seq ON metrics (seq, kind)
