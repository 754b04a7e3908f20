-- The loop inside the server: each turn is a transaction. Its answer is the number of turns.
CREATE PROCEDURE insert_loop(seed bigint, source_count bigint, turns int)
BEGIN
    DECLARE done int DEFAULT 0;
    DECLARE wanted, found_value bigint;
    DECLARE found_payload varchar(255);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK;
        RESIGNAL;
    END;
    DECLARE EXIT HANDLER FOR NOT FOUND
    BEGIN
        ROLLBACK;
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a source row is missing';
    END;
    WHILE done < turns DO
        SET wanted = 1 + CRC32(CONCAT(seed, ' ', done)) % source_count;
        START TRANSACTION;
        SELECT value, payload INTO found_value, found_payload FROM source_rows WHERE id = wanted;
        INSERT INTO results (source_id, value, payload)
        VALUES (wanted, found_value + wanted, found_payload);
        COMMIT;
        SET done = done + 1;
    END WHILE;
    SELECT done;
END;
