// A MongoDB-wire server for tests: FerretDB with its SQLite backend, embedded.
// Usage: ferretdb HOST:PORT DIRECTORY. Ends on SIGTERM, SIGINT, or when standard input closes, so it never outlives its test run.
package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: ferretdb HOST:PORT DIRECTORY")
	}
	directory, err := filepath.Abs(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: os.Args[1]},
		Handler:   "sqlite",
		SQLiteURL: "file:" + directory + "/",
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	go indexIds(ctx, directory)
	if err := server.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
