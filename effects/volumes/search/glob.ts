import picomatch from 'picomatch';
import { Budget, type GlobFound, type SearchJob } from './job.ts';
import { walk } from './walk.ts';

const GLOB_OPTIONS = { dot: true, nonegate: true } as const;

/** Finds files, directories and links by a glob. */
export function glob({ at, is_root, depth, pattern, under, bounds }: Extract<SearchJob, { kind: 'glob' }>): GlobFound {
  const budget = new Budget(bounds);
  const fits = picomatch(pattern, GLOB_OPTIONS);
  const paths: string[] = [];
  const take = (path: string): boolean => {
    if (!fits(path)) return true;
    if (!budget.result(Buffer.byteLength(path) + 1)) return false;
    paths.push(path);
    return true;
  };
  const narrowed =
    under === '' ? { depth: Math.min(depth, reach(pattern)), enters: towards(baseOf(pattern)) } : { depth };
  if (under !== '') take(under.slice(0, -1));
  for (const { path } of walk(at, { isRoot: is_root, ...narrowed })) {
    if (!budget.entry() || !take(`${under}${path}`)) break;
  }
  return { kind: 'glob', paths: paths.sort(), ended_by: budget.spent, entries: budget.entries };
}

/** How deep a pattern can match: its number of slashes, unless a part spans directories. */
function reach(pattern: string): number {
  if (/\*\*|[{}()[\]\\]/.test(pattern)) return Number.MAX_SAFE_INTEGER;
  return pattern.split('/').length - 1;
}

/** The parts of a pattern before its first wildcard. */
function baseOf(pattern: string): string {
  if (/[{}()[\]\\!]/.test(pattern)) return '';
  const names = pattern.split('/');
  const first = names.findIndex((name) => /[*?]/.test(name));
  const plain = first === -1 ? names.slice(0, -1) : names.slice(0, first);
  return plain.filter((name) => name !== '' && name !== '.').join('/');
}

/** Whether a directory is on the path to the base or below it. */
const towards = (base: string) => (path: string) =>
  base === '' || path === base || base.startsWith(`${path}/`) || path.startsWith(`${base}/`);
