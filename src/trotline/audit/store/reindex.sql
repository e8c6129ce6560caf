-- Fill the index tables from the entries, one record after the other, so that memory use does not grow with the log.
-- `build_columns`, `build_facts`, `build_metrics` and `build_search_text` are Python functions.
CREATE TEMP VIEW kept AS
SELECT record.seq AS seq, record.body AS record, detail.body AS detail
FROM main.entries AS record
LEFT JOIN main.entries AS detail ON detail.id = record.id AND detail.kind = 'detail'
WHERE record.kind = 'record' AND record.body IS NOT NULL;

INSERT INTO records (seq, id, at_us, agent, event, conversation, verdict, command, is_self_test)
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
CROSS JOIN json_each('[' || build_columns(record, detail) || ']');

INSERT INTO facts
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), seq
FROM kept
CROSS JOIN json_each(build_facts(record, detail));

INSERT INTO metrics
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), seq, key, json_extract(value, '$[2]')
FROM kept
CROSS JOIN json_each(build_metrics(record, detail));

INSERT INTO words (rowid, text) SELECT seq, build_search_text(record, detail) FROM kept;

INSERT INTO spans
SELECT number, min(earliest) OVER (ORDER BY number DESC), max(latest) OVER (ORDER BY number)
FROM (SELECT seq / 100 AS number, min(at_us) AS earliest, max(at_us) AS latest FROM records GROUP BY 1);

DROP VIEW kept
