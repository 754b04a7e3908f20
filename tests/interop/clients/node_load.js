// Puts the load of the interop tests on a server by node-postgres: PORT USER LOOPS.
"use strict";

const { Client } = require("pg");

async function main([port, user, loops]) {
  const session = new Client({ host: "127.0.0.1", port, user, database: "postgres" });
  await session.connect();
  for (let i = 0; i < loops; i++) {
    const key = (i % 1000) + 1;
    const point = { name: "point", text: "SELECT name FROM items WHERE id = $1", values: [key] };
    await session.query(point);
    await session.query(
      "SELECT count(*) FROM items WHERE name LIKE $1 AND ($2::int IS NULL OR id > $2)",
      ["it%", i % 2 ? null : key],
    );
    await session.query("BEGIN");
    await session.query("SELECT price FROM items WHERE id = $1", [key]);
    await session.query("UPDATE items SET price = price + $1 WHERE id = $2", [1.5, key]);
    await session.query("COMMIT");
    await session.query("INSERT INTO notes (item, body) VALUES ($1, $2) RETURNING id", [
      key,
      `it's :p1 \\ ü ${i}`,
    ]);
    await session.query("SELECT id FROM items WHERE id = ANY($1)", [[key, 2, 3]]);
    await session.query("SELECT count(*) FROM items WHERE made < $1", [new Date()]);
    await session.query(`SELECT count(*) FROM items WHERE id < ${key} AND active`);
    if (i % 20 === 0) {
      await session.query("SELECT 1 / $1::int", [0]).catch(() => null);
    }
  }
  await session.end();
}

main(process.argv.slice(2));
