// Serves an empty database "bench" by go-mysql-server, the engine of Dolt, on loopback: PORT.
package main

import (
	"os"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
)

func main() {
	provider := memory.NewDBProvider(memory.NewDatabase("bench"))
	engine := sqle.NewDefault(provider)
	config := server.Config{Protocol: "tcp", Address: "127.0.0.1:" + os.Args[1]}
	sessions := memory.NewSessionBuilder(provider)
	listener, err := server.NewServer(config, engine, sql.NewContext, sessions, nil)
	if err != nil {
		panic(err)
	}
	if err := listener.Start(); err != nil {
		panic(err)
	}
}
