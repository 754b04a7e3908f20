// Puts the load of the interop tests on a server by pgx: PORT USER LOOPS.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

func require(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	loops, err := strconv.Atoi(os.Args[3])
	require(err)
	url := fmt.Sprintf("postgres://%s@127.0.0.1:%s/postgres?sslmode=disable", os.Args[2], os.Args[1])
	session, err := pgx.Connect(ctx, url)
	require(err)
	defer session.Close(ctx)
	read := func(text string, values ...any) {
		rows, err := session.Query(ctx, text, values...)
		require(err)
		rows.Close()
		require(rows.Err())
	}
	for i := 0; i < loops; i++ {
		key := i%1000 + 1
		var least *int
		if i%2 == 0 {
			least = &key
		}
		read("SELECT name FROM items WHERE id = $1", key)
		read("SELECT count(*) FROM items WHERE name LIKE $1 AND ($2::int IS NULL OR id > $2)", "it%", least)
		begun, err := session.Begin(ctx)
		require(err)
		read("SELECT price FROM items WHERE id = $1", key)
		_, err = begun.Exec(ctx, "UPDATE items SET price = price + $1 WHERE id = $2", 1.5, key)
		require(err)
		require(begun.Commit(ctx))
		read("INSERT INTO notes (item, body) VALUES ($1, $2) RETURNING id", key, fmt.Sprintf("it's :p1 \\ ü %d", i))
		read("SELECT id FROM items WHERE id = ANY($1)", []int{key, 2, 3})
		read("SELECT count(*) FROM items WHERE made < $1", time.Now())
		if i%20 == 0 {
			_, _ = session.Exec(ctx, "SELECT 1 / $1::int", 0)
		}
	}
}
