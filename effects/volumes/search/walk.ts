import { closeSync, constants, type Dirent, opendirSync, openSync } from 'node:fs';
import { systemCode } from '../../../runtime/kit/system-code.ts';
import { UPLOADS } from '../volume-path.ts';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY, O_NONBLOCK } = constants;
/** Names read of one directory. */
const MAX_NAMES = 100_000;
/** Errors of entries that have changed meanwhile or cannot be read; the search skips these. */
const SKIPPED = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM', 'ENAMETOOLONG', 'ENXIO'];

/** An entry of the walk. */
interface Found {
  /** Path below the start. */
  readonly path: string;
  readonly kind: 'file' | 'directory' | 'other';
  /** Path through the descriptor of its directory, so that a link cannot redirect it. */
  readonly entry: string;
}

interface WalkOptions {
  readonly isRoot: boolean;
  /** Deeper directories are not opened. */
  readonly depth: number;
  /** Whether to enter a directory. */
  readonly enters?: (path: string) => boolean;
}

/** With the process id instead of `self`: the kernel follows one link less, a sixth of the cost of opening a file. */
const DESCRIPTORS = `/proc/${process.pid}/fd`;

interface Level {
  readonly fd: number;
  readonly self: string;
  readonly prefix: string;
  readonly entries: readonly Dirent[];
  next: number;
}

/**
 * All entries below an open directory, depth first, sorted by name. Opens each directory below the one before and follows no
 * links, so that concurrent changes cannot redirect it. Links are entries.
 */
export function* walk(at: string, { isRoot, depth, enters = () => true }: WalkOptions): Generator<Found> {
  const levels: Level[] = [];
  const enter = (path: string, prefix: string): void => {
    const level = openLevel(path, prefix, isRoot && prefix === '');
    if (level !== null) levels.push(level);
  };
  try {
    enter(`${at}/.`, '');
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const entry = level.entries[level.next];
      level.next += 1;
      if (entry === undefined) {
        closeSync(level.fd);
        levels.pop();
        continue;
      }
      const found = { path: `${level.prefix}${entry.name}`, kind: kindOf(entry), entry: `${level.self}/${entry.name}` };
      yield found;
      if (found.kind === 'directory' && levels.length <= depth && enters(found.path)) {
        enter(found.entry, `${found.path}/`);
      }
    }
  } finally {
    for (const { fd } of levels) closeSync(fd);
  }
}

/** Null for a directory that is gone or unreadable. */
function openLevel(path: string, prefix: string, hidesUploads: boolean): Level | null {
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
  } catch (thrown) {
    if (isSkipped(thrown)) return null;
    throw thrown;
  }
  try {
    const self = process.platform === 'linux' ? `${DESCRIPTORS}/${fd}` : path;
    return { fd, self, prefix, entries: entriesOf(self, hidesUploads), next: 0 };
  } catch (thrown) {
    closeSync(fd);
    if (isSkipped(thrown)) return null;
    throw thrown;
  }
}

function entriesOf(directory: string, hidesUploads: boolean): Dirent[] {
  const entries: Dirent[] = [];
  const open = opendirSync(directory, { bufferSize: 512 });
  try {
    for (let entry = open.readSync(); entry !== null && entries.length < MAX_NAMES; entry = open.readSync()) {
      if (!(hidesUploads && entry.name === UPLOADS)) entries.push(entry);
    }
  } finally {
    open.closeSync();
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function kindOf(entry: Dirent): Found['kind'] {
  if (entry.isFile()) return 'file';
  return entry.isDirectory() ? 'directory' : 'other';
}

export const isSkipped = (thrown: unknown): boolean => SKIPPED.includes(systemCode(thrown));
