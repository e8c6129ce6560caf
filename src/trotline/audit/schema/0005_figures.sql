-- What a record counts: who took how long, which tool brought how much, how many lines a file gained. In an order in
-- which new ones come to the end of their kind and name. `figures_of` is lent by the program.
CREATE TABLE figures (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  seq INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY (kind, name, seq, turn)
) WITHOUT ROWID;

CREATE INDEX figures_seq ON figures (seq, kind);

CREATE INDEX records_own ON records (seq) WHERE own = 1;

INSERT INTO figures
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), records.seq, key, json_extract(value, '$[2]')
FROM records
JOIN entries AS record ON record.seq = records.seq
LEFT JOIN entries AS detail ON detail.id = records.id AND detail.kind = 'detail'
JOIN json_each(figures_of(record.body, detail.body))
