-- bench: prepare
CREATE TABLE events (id integer PRIMARY KEY, event jsonb);
-- bench: check events event json
-- bench: changes
\copy events FROM {data}
SELECT {rows} AS changes;
