-- Refresh function 2: as many of the oldest go.
CALL refresh_out(GREATEST(1, 15 * :scale));
