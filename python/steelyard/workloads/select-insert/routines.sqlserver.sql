-- The loop inside the server: each turn is a transaction. Its answer is the number of turns. No
-- statement in it ends with a semicolon, which would end the whole where files are cut.
CREATE PROCEDURE insert_loop @seed bigint, @source_count bigint, @turns int AS
BEGIN
    SET NOCOUNT ON
    DECLARE @done int = 0, @wanted bigint, @value bigint, @payload nvarchar(255)
    WHILE @done < @turns
    BEGIN
        SET @wanted = 1 + ABS(
            CAST(CAST(HASHBYTES('SHA1', CONCAT(@seed, ' ', @done)) AS binary(8)) AS bigint)
            % @source_count)
        SET @payload = NULL
        BEGIN TRANSACTION
        SELECT @value = value, @payload = payload FROM source_rows WHERE id = @wanted
        IF @payload IS NULL
        BEGIN
            ROLLBACK TRANSACTION
            RAISERROR('a source row is missing', 16, 1)
            RETURN
        END
        INSERT INTO results (source_id, value, payload)
        VALUES (@wanted, @value + @wanted, @payload)
        COMMIT TRANSACTION
        SET @done = @done + 1
    END
    SELECT @done AS done
END;
