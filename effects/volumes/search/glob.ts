import picomatch from 'picomatch';
import { Budget, type GlobFound, type SearchJob } from './job.ts';
import { walk } from './walk.ts';

/** Files, directories and links whose path fits; names that begin with a dot are names like others. */
const GLOB_OPTIONS = { dot: true, nonegate: true } as const;

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

/** How many directories down a pattern can reach: as many as it has slashes, unless something in it spans them. */
function reach(pattern: string): number {
  if (/\*\*|[{}()[\]\\]/.test(pattern)) return Number.MAX_SAFE_INTEGER;
  return pattern.split('/').length - 1;
}

/** The names a pattern begins with before anything in it is a wildcard. */
function baseOf(pattern: string): string {
  if (/[{}()[\]\\!]/.test(pattern)) return '';
  const names = pattern.split('/');
  const first = names.findIndex((name) => /[*?]/.test(name));
  const plain = first === -1 ? names.slice(0, -1) : names.slice(0, first);
  return plain.filter((name) => name !== '' && name !== '.').join('/');
}

/** Only directories on the way to the base, and what is below it. */
const towards = (base: string) => (path: string) =>
  base === '' || path === base || base.startsWith(`${path}/`) || path.startsWith(`${base}/`);
