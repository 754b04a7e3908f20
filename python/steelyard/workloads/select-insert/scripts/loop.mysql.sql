-- Many turns in one call: the client waits once.
\set seed random(1, 9000000000000000000)
CALL insert_loop(:seed, 1000 * :scale, :turns);
