-- Made anew from what is in the records: what was decided and only written down has verdicts of its own, deeds that are
-- asked about at another event are told apart, files, commands and servers are counted alike under all hosts, patches are
-- found by their files and not as commands, calls of servers without the line that starts one, effects by all that is known.
-- The functions are lent by the program, as in step 6.
DELETE FROM records;

DELETE FROM facts;

DELETE FROM figures;

DELETE FROM spans;

DROP TABLE words;

CREATE VIRTUAL TABLE words USING fts5 (text);

CREATE TEMP VIEW kept AS
SELECT record.seq AS seq, record.body AS record, detail.body AS detail
FROM main.entries AS record
LEFT JOIN main.entries AS detail ON detail.id = record.id AND detail.kind = 'detail'
WHERE record.kind = 'record' AND record.body IS NOT NULL;

INSERT INTO records (seq, id, at_us, host, event, conversation, verdict, command, own)
SELECT
  seq,
  json_extract(value, '$[0]'),
  json_extract(value, '$[1]'),
  json_extract(value, '$[2]'),
  json_extract(value, '$[3]'),
  json_extract(value, '$[4]'),
  json_extract(value, '$[5]'),
  json_extract(value, '$[6]'),
  json_extract(value, '$[7]')
FROM kept
CROSS JOIN json_each('[' || columns_of(record, detail) || ']');

INSERT INTO facts
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), seq
FROM kept
CROSS JOIN json_each(facts_of(record, detail));

INSERT INTO figures
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), seq, key, json_extract(value, '$[2]')
FROM kept
CROSS JOIN json_each(figures_of(record, detail));

INSERT INTO words (rowid, text) SELECT seq, words_of(record, detail) FROM kept;

INSERT INTO spans
SELECT number, min(earliest) OVER (ORDER BY number DESC), max(latest) OVER (ORDER BY number)
FROM (SELECT seq / 100 AS number, min(at_us) AS earliest, max(at_us) AS latest FROM records GROUP BY 1);

DROP VIEW kept
