import { SvcError } from '../../runtime/errors.ts';

const MAX_PATH_BYTES = 4_096;
const MAX_NAME_BYTES = 255;
/** Deepest place in a volume that files can be reached at. */
export const MAX_DEPTH = 128;

/** Where uploads grow before they take their place; hidden from lists. */
export const UPLOADS = '.svc-uploads';

/** A path that leaves its volume: what tools call PathOutsideBoundary. */
export class PathTraversal extends SvcError {
  constructor(message = 'path: must stay inside the volume') {
    super('forbidden', message, { field: 'path' });
  }
}

/**
 * Names on the way to a file, from the volume's root; the root itself has none. A leading `/` is that root. Any `..`
 * is refused, wherever it leads (original-facts 5.4). Throws `PathTraversal`, `invalid_argument`.
 */
export function partsOf(path: string): string[] {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw invalid(`at most ${MAX_PATH_BYTES} bytes`);
  if (path.includes('\0')) throw invalid('no NUL');
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) throw new PathTraversal();
  if (parts[0] === UPLOADS) throw invalid(`a name other than ${UPLOADS}`);
  if (parts.length > MAX_DEPTH) throw invalid(`at most ${MAX_DEPTH} names deep`);
  if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES)) {
    throw invalid(`names of at most ${MAX_NAME_BYTES} bytes`);
  }
  return parts;
}

const invalid = (expected: string): SvcError =>
  new SvcError('invalid_argument', `path: expected ${expected}`, { field: 'path' });

const GIT_FILES = new Set(['config', 'config.worktree', 'hooks']);

/**
 * Throws `forbidden` for what tells git which programs to run: `.git/config`, hooks, and a `.git` that says where those are.
 * An agent that may run git, and write files, could otherwise run anything. Names as they are after all links.
 */
export function refuseGitConfiguration(parts: readonly string[]): void {
  const names = parts.map((name) => name.toLowerCase());
  const below = names.slice(names.indexOf('.git') + 1);
  const isGit = names.includes('.git') && (below.length === 0 || below.some((name) => GIT_FILES.has(name)));
  if (!isGit) return;
  const text = `${pathOf(parts).slice(0, MAX_SHOWN_CHARS)} tells git which programs to run: it is not written by tools`;
  throw new SvcError('forbidden', text, { field: 'path' });
}

const MAX_SHOWN_CHARS = 200;

/** The names as a path from the volume's root. */
export const pathOf = (parts: readonly string[]): string => `/${parts.join('/')}`;
