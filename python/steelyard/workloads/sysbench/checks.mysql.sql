-- What holds after any mix of the scripts. Every row that a statement returns is a violation.

-- Every text is of groups of eleven digits, whoever wrote it.
SELECT CONCAT('row ', id, ' of sbtest1 has c "', c, '" and pad "', pad, '"') FROM sbtest1
 WHERE c NOT REGEXP '^([0-9]{11}-){9}[0-9]{11} *$'
    OR pad NOT REGEXP '^([0-9]{11}-){4}[0-9]{11} *$' OR k < 1 OR id < 1
 LIMIT 10;
