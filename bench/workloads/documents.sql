-- bench: prepare
CREATE TABLE documents (id integer PRIMARY KEY, body text);
-- bench: check documents body
-- bench: changes
\copy documents FROM {data}
SELECT {rows} AS changes;
