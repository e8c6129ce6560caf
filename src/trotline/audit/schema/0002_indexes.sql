CREATE INDEX records_event ON records (event, own);

CREATE INDEX records_host ON records (host, own)
