import type { Stats } from 'node:fs';
import type { FileEntry } from './api.ts';

export const entryOf = (name: string, stats: Stats): FileEntry => ({
  name,
  kind: kindOf(stats),
  size_bytes: stats.isFile() ? stats.size : 0,
  modified_at: stats.mtime.toISOString(),
});

function kindOf(stats: Stats): FileEntry['kind'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'link' : 'other';
}
