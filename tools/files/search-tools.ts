import type { GrepResult, SearchEnd } from '../../usecases/ports/volumes.ts';
import { defineTool, type Tool, type ToolCall, ToolFailure } from '../tool.ts';
import { fsGlob, fsGrep } from './contracts.ts';
import { below, directoryOf, type FilePlace, type FilePorts, placeOf, placesBelow } from './places.ts';
import { unlessMissing, withFile } from './text-file.ts';

type Matched = GrepResult['matches'][number];
interface Found<T> {
  readonly found: readonly T[];
  readonly ended: SearchEnd;
}

const MATCHES = 1_000;
const PATHS = 10_000;

/** fs.grep and fs.glob: in the directory's volume, and in volumes that are mounted below it. */
export function searchTools(ports: FilePorts): Tool[] {
  return [
    defineTool(fsGrep, async ({ pattern, path }, call) => {
      const { found, ended } = await grep(ports, call, directoryOf(path), pattern);
      const lines = found.map((match) => `${match.path}:${match.line}:${match.text}`);
      const matches = found.map((match) => ({ ...match }));
      return { text: told(lines, ended), structured: { matches, truncated: ended !== null } };
    }),
    defineTool(fsGlob, async ({ pattern, path }, call) => {
      const { found, ended } = await glob(ports, call, directoryOf(path), pattern);
      return { text: told(found, ended) };
    }),
  ];
}

async function grep(ports: FilePorts, call: ToolCall, path: string, pattern: string): Promise<Found<Matched>> {
  return everywhere(ports, call, path, 'InvalidRegex', async (place, _under, left) => {
    const options = { signal: call.signal, found: left(MATCHES) };
    const { matches, ended_by } = await ports.files.grep(call.tenant, place.volumeId, place.inVolume, pattern, options);
    const whole = matches.map((match) => ({ ...match, path: pathIn(place.path, match.path) }));
    return { found: whole.map((item) => ({ item, path: item.path })), ended: ended_by };
  });
}

async function glob(ports: FilePorts, call: ToolCall, path: string, pattern: string): Promise<Found<string>> {
  const { found, ended } = await everywhere(ports, call, path, 'InvalidGlob', async (place, under, left) => {
    const options = { signal: call.signal, found: left(PATHS), ...(under === '' ? {} : { under }) };
    const { paths, ended_by } = await ports.files.glob(call.tenant, place.volumeId, place.inVolume, pattern, options);
    const top = under === '' ? place.path : place.path.slice(0, -under.length - 1);
    return { found: paths.map((item) => ({ item, path: pathIn(top, item) })), ended: ended_by };
  });
  return { found: [...new Set(found)].sort(), ended };
}

type Search<T> = (
  place: FilePlace,
  /** The place as seen from where the search begins, '' for that itself. */
  under: string,
  left: (limit: number) => number,
) => Promise<{ readonly found: readonly { readonly item: T; readonly path: string }[]; readonly ended: SearchEnd }>;

/** Searches a directory and what is mounted below it; leaves out what is hidden by a mount, or what rules do not show. */
async function everywhere<T>(
  ports: FilePorts,
  call: ToolCall,
  given: string,
  wrong: 'InvalidRegex' | 'InvalidGlob',
  search: Search<T>,
): Promise<Found<T>> {
  const top = await placeOf(ports, call, given, 'read');
  const mounted = await placesBelow(ports, call, top.path);
  const { scope } = call.run;
  const all: T[] = [];
  let ended: SearchEnd = null;
  for (const place of [top, ...mounted]) {
    const inner = mounted.filter((other) => other !== place && below(other.path, place.path) !== null);
    const left = (limit: number): number => Math.max(1, limit - all.length);
    const result = await unlessMissing({ found: [], ended: null }, inner.length > 0, () =>
      searched(place.path, wrong, () => search(place, below(place.path, top.path) ?? '', left)),
    );
    for (const { item, path } of result.found) {
      const hidden = inner.some((other) => below(path, other.path) !== null);
      if (!hidden && ports.mayTouch(scope, path, 'read')) all.push(item);
    }
    ended ??= result.ended;
    if (ended === 'found') break;
  }
  return { found: all, ended };
}

async function searched<T>(path: string, wrong: 'InvalidRegex' | 'InvalidGlob', work: () => Promise<T>): Promise<T> {
  try {
    return await withFile(path, work);
  } catch (thrown) {
    const isPattern = thrown instanceof ToolFailure && thrown.message.startsWith('pattern: ');
    throw isPattern ? new ToolFailure(wrong, thrown.message, 'recoverable', thrown) : thrown;
  }
}

const pathIn = (directory: string, name: string): string => (name === '' ? directory : `${directory}/${name}`);

const ENDS: Record<NonNullable<SearchEnd>, string> = {
  found: 'there is more than is shown: ask for something more precise',
  entries: 'not all was looked at, there are too many entries: begin further down',
  time: 'not all was looked at, it took too long: begin further down',
};

/** One a line; what was left out is said in a last line of its own. */
const told = (lines: readonly string[], ended: SearchEnd): string =>
  (ended === null ? lines : [...lines, `[${ENDS[ended]}]`]).join('\n');
