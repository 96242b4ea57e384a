import { invalidField, SvcError } from '../../runtime/errors.ts';
import { PathTraversal } from '../../usecases/ports/volumes.ts';

const MAX_PATH_BYTES = 4_096;

const MAX_NAME_BYTES = 255;

/** Maximum depth of a path in a volume. */
export const MAX_DEPTH = 128;

/** Directory for uploads under way; hidden from lists. */
export const UPLOADS = '.svc-uploads';

/**
 * The parts of a path from the volume's root; none for the root. A leading `/` is the root. Any `..` is refused, even if it
 * stays inside (W33). Throws `PathTraversal`, `invalid_argument`.
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

const invalid = (expected: string): SvcError => invalidField('path', `expected ${expected}`);

const GIT_FILES = new Set(['config', 'config.worktree', 'hooks']);

/**
 * Throws `forbidden` for files that tell git which programs to run: `.git/config`, hooks, and a `.git` file that points to
 * them. Otherwise an agent that may write files and run git could run any program. `parts` are those after all links.
 */
export function refuseGitConfiguration(parts: readonly string[]): void {
  const names = parts.map((name) => name.toLowerCase());
  const below = names.slice(names.indexOf('.git') + 1);
  const isGit = names.includes('.git') && (below.length === 0 || below.some((name) => GIT_FILES.has(name)));
  if (!isGit) return;
  const text = `${pathOf(parts).slice(0, MAX_SHOWN_CHARS)} configures programs that git runs; tools may not write it`;
  throw new SvcError('forbidden', text, { field: 'path' });
}

const MAX_SHOWN_CHARS = 200;

/** The parts as a path from the volume's root. */
export const pathOf = (parts: readonly string[]): string => `/${parts.join('/')}`;
