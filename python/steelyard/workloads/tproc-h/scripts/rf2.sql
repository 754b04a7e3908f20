-- Refresh function 2: as many of the oldest go.
SELECT refresh_out(greatest(1, 15 * :scale::int));
