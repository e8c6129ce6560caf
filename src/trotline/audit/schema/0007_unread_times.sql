-- When a line came that could not be read: it is forgotten by age, too. Of those that are there it is only known that
-- they came before now.
ALTER TABLE unread ADD COLUMN at_us INTEGER NOT NULL DEFAULT 0;

UPDATE unread SET at_us = CAST(strftime('%s', 'now') AS INTEGER) * 1000000
