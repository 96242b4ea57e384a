import type { DatabaseSync } from 'node:sqlite';

/** Free pages that stay for the rows to come: 4 MiB in pages of 4 KiB. */
const KEPT_PAGES = 1_024;
/** Pages of one step: half a megabyte, some milliseconds. */
const STEP_PAGES = 128;
/** Files of an earlier version up to this size are rewritten once, when they are opened: about a second. */
const REWRITTEN_UP_TO_BYTES = 64 * 1024 * 1024;
const INCREMENTAL = 2;

function pragma(database: DatabaseSync, name: 'auto_vacuum' | 'freelist_count' | 'page_count' | 'page_size'): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
}

/** Lets a new file give space back in steps; it must be said before the first table is made, so before anything else. */
export function makeFreeable(database: DatabaseSync): void {
  if (pragma(database, 'page_count') === 0) database.exec('PRAGMA auto_vacuum = INCREMENTAL');
}

/**
 * Rewrites a file that was made without it, when it is small. A large one stays as it is, since rewriting would hold the
 * start up and needs as much space again: its free pages are used again, and an operator may rewrite it while the node is
 * stopped (docs/retention-and-backup.md).
 */
export function rewriteWhenSmall(database: DatabaseSync): void {
  const pages = pragma(database, 'page_count');
  if (pages === 0 || pragma(database, 'auto_vacuum') === INCREMENTAL) return;
  if (pages * pragma(database, 'page_size') <= REWRITTEN_UP_TO_BYTES)
    database.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM;');
}

/** Gives some free pages back to the file system; answers whether there are more to give. */
export function giveBackSpace(database: DatabaseSync): boolean {
  const free = pragma(database, 'freelist_count');
  if (free <= KEPT_PAGES || pragma(database, 'auto_vacuum') !== INCREMENTAL) return false;
  database.exec(`PRAGMA incremental_vacuum(${Math.min(STEP_PAGES, free - KEPT_PAGES)})`);
  return free - STEP_PAGES > KEPT_PAGES;
}
