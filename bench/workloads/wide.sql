-- bench: prepare
CREATE TABLE wide (id integer PRIMARY KEY, body text);
-- bench: check wide body
-- bench: changes
\copy wide FROM {data}
SELECT {rows} AS changes;
