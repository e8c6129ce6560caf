-- Of every hundred entries: the earliest time in them and after them, the latest in them and before them. Both only
-- grow from one to the next, however late a record came: a time is then a place in the trail.
CREATE TABLE spans (
  number INTEGER PRIMARY KEY,
  first_us INTEGER NOT NULL,
  last_us INTEGER NOT NULL
);

CREATE INDEX spans_first ON spans (first_us);

CREATE INDEX spans_last ON spans (last_us);

INSERT INTO spans
SELECT number, min(earliest) OVER (ORDER BY number DESC), max(latest) OVER (ORDER BY number)
FROM (SELECT seq / 100 AS number, min(at_us) AS earliest, max(at_us) AS latest FROM records GROUP BY 1)
