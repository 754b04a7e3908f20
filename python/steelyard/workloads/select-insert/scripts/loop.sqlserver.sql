-- Many turns in one call: the client waits once. An argument of a procedure is no expression.
\set seed random(1, 9000000000000000000)
\set sources 1000 * :scale
EXEC insert_loop :seed, :sources, :turns;
