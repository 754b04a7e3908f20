-- Refresh function 1: a thousandth of the orders come in.
CALL refresh_in(GREATEST(1, 15 * :scale));
