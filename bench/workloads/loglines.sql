-- bench: prepare
CREATE TABLE loglines (id integer PRIMARY KEY, line text);
-- bench: check loglines line
-- bench: changes
\copy loglines FROM {data}
SELECT {rows} AS changes;
