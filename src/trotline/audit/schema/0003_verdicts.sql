-- A question that was told to the host as a refusal is one.
UPDATE records SET verdict = 'deny'
WHERE (SELECT json_extract(body, '$.sent') FROM entries WHERE entries.seq = records.seq AND json_valid(body)) = 'deny';

UPDATE facts SET kind = 'refused'
WHERE kind = 'let' AND seq IN (SELECT seq FROM records WHERE verdict = 'deny')
