-- bench: prepare
CREATE TABLE titles (id integer PRIMARY KEY, title text);
-- bench: check titles title
-- bench: changes
\copy titles FROM {data}
SELECT {rows} AS changes;
