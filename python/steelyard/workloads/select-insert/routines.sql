-- The loop inside the server. A block of PL/pgSQL is one transaction unless it commits; the loop in
-- SQL Server, which this one stands beside, commits every turn by itself. So does this one.
CREATE PROCEDURE insert_loop(seed bigint, source_count bigint, turns int, INOUT done int)
LANGUAGE plpgsql AS $$
DECLARE
    found record;
BEGIN
    done := 0;
    FOR turn IN 1 .. turns LOOP
        SELECT id, value, payload INTO STRICT found FROM source_rows
         WHERE id = 1 + (hashint8extended(turn::bigint, seed) & 9223372036854775807) % source_count;
        INSERT INTO results (source_id, value, payload)
        VALUES (found.id, found.value::bigint + found.id, found.payload);
        COMMIT;
        done := done + 1;
    END LOOP;
END $$;
