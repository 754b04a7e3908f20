-- Refresh function 1: a thousandth of the orders come in.
SELECT refresh_in(greatest(1, 15 * :scale::int));
