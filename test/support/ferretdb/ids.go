package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite"
)

// How soon a new collection gets its index.
const lookEvery = 100 * time.Millisecond

// Collections without the index; a schema says what is there.
const bare = `SELECT name FROM sqlite_master AS t WHERE type = 'table' AND name NOT LIKE '\_ferretdb%' ESCAPE '\'
	AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
	AND NOT EXISTS (SELECT 1 FROM sqlite_master AS i WHERE i.type = 'index' AND i.name = t.name || '_by_id')`

// FerretDB 1 looks a document up by the expression ->'$._id', and its own index is over ->"_id", so that SQLite reads the
// whole collection for each find, update and delete by id. MongoDB does not: every collection gets the index that these
// queries use. A schema is looked through only when it has changed, since an idle server did little else. Ends with ctx.
func indexIds(ctx context.Context, directory string) {
	open := map[string]*sql.DB{}
	seen := map[string]int{}
	defer func() {
		for _, db := range open {
			_ = db.Close()
		}
	}()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		files, _ := filepath.Glob(filepath.Join(directory, "*.sqlite"))
		for _, file := range files {
			if open[file] == nil {
				db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
				if err != nil {
					log.Print(err)
					continue
				}
				db.SetMaxOpenConns(1)
				open[file] = db
			}
			version, err := schemaVersion(ctx, open[file])
			if err == nil && version == seen[file] {
				continue
			}
			if err == nil {
				err = indexBare(ctx, open[file])
			}
			if err == nil {
				seen[file] = version
			} else if ctx.Err() == nil {
				log.Print(err)
			}
		}
	}
}

// It grows with each change of the schema, and is not 0 once there is a table.
func schemaVersion(ctx context.Context, db *sql.DB) (version int, err error) {
	err = db.QueryRowContext(ctx, "PRAGMA schema_version").Scan(&version)
	return version, err
}

func indexBare(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, bare)
	if err != nil {
		return err
	}
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			_ = rows.Close()
			return err
		}
		tables = append(tables, name)
	}
	if err := rows.Close(); err != nil {
		return err
	}
	for _, name := range tables {
		// IF NOT EXISTS, and a table that was dropped meanwhile is no error that matters.
		statement := fmt.Sprintf(`CREATE INDEX IF NOT EXISTS %q ON %q (_ferretdb_sjson->'$._id')`, name+"_by_id", name)
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
