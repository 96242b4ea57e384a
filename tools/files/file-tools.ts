import { SvcError } from '../../runtime/errors.ts';
import { counted } from '../../runtime/kit/counted.ts';
import type { GrepResult, SearchEnd } from '../../usecases/ports/volumes.ts';
import { defineTool, type Tool, type ToolCall, ToolFailure } from '../tool.ts';
import { fsCreateDir, fsDelete, fsEdit, fsGlob, fsGrep, fsList, fsMultiEdit, fsRead, fsWrite } from './contracts.ts';
import {
  below,
  checkRules,
  directoryOf,
  type FilePlace,
  type FilePorts,
  mountNames,
  placeOf,
  placesBelow,
} from './places.ts';
import { checkFileBytes, readText, unlessMissing, withFile } from './text-file.ts';

const LISTED = 10_000;

/** Handlers of fs.* over the volumes of an execution. */
export function fileTools(ports: FilePorts): Tool[] {
  const { files } = ports;
  return [
    defineTool(fsRead, async ({ path }, call) => {
      const { text } = await readText(ports, call.tenant, await placeOf(ports, call, path, 'read'));
      return { text };
    }),

    defineTool(fsWrite, async (input, call) => {
      const { path, volumeId, inVolume } = await placeOf(ports, call, input.path, 'write');
      const content = Buffer.from(input.content);
      checkFileBytes(call.run, path, content.length);
      const written = await withFile(path, () =>
        files.write(call.tenant, volumeId, inVolume, content, { byTool: true }),
      );
      return {
        text: `${written.created ? 'Created' : 'Replaced'} ${path} (${counted(written.bytes_written, 'byte')}).`,
      };
    }),

    defineTool(fsList, async (input, call) => ({ text: await list(ports, call, directoryOf(input.path)) })),

    defineTool(fsCreateDir, async (input, call) => {
      const place = await placeOf(ports, call, input.path, 'write');
      await makeDirectory(ports, call.tenant, place);
      return { text: `Created directory ${place.path}.` };
    }),

    defineTool(fsDelete, async (input, call) => {
      const { path, volumeId, inVolume } = await placeOf(ports, call, input.path, 'write');
      if (inVolume === '' || mountNames(call, path).length > 0) {
        throw new ToolFailure(
          'PERMISSION_DENIED',
          `${path} cannot be deleted because a volume is mounted there; delete its content instead`,
        );
      }
      const { recursive } = input;
      await withFile(path, () => files.delete(call.tenant, volumeId, inVolume, { recursive }));
      return { text: `Deleted ${path}.` };
    }),

    defineTool(fsEdit, async ({ path, ...edit }, call) => {
      const at = await editFile(ports, call, path, [edit]);
      const { removed, added } = changedLines([edit]);
      return { text: `Edited ${at}: 1 replacement, ${counted(removed, 'line')} became ${added}.` };
    }),

    defineTool(fsMultiEdit, async ({ path, edits }, call) => {
      const at = await editFile(ports, call, path, edits);
      return { text: `Edited ${at}: ${counted(edits.length, 'edit')} applied.` };
    }),

    defineTool(fsGrep, async ({ pattern, path }, call) => {
      const { found, ended } = await grep(ports, call, directoryOf(path), pattern);
      const lines = found.map((match) => `${match.path}:${match.line}:${match.text}`);
      const matches = found.map((match) => ({ ...match }));
      return { text: reported(lines, ended), structured: { matches, truncated: ended !== null } };
    }),

    defineTool(fsGlob, async ({ pattern, path }, call) => {
      const { found, ended } = await glob(ports, call, directoryOf(path), pattern);
      return { text: reported(found, ended) };
    }),
  ];
}

/** Lists the sorted names of a directory, directories with `/`, mount points included. */
async function list(ports: FilePorts, call: ToolCall, given: string): Promise<string> {
  const { path, volumeId, inVolume } = await placeOf(ports, call, given, 'read');
  const mounted = new Set(mountNames(call, path));
  const { entries, truncated } = await unlessMissing({ entries: [], truncated: false }, mounted.size > 0, () =>
    withFile(path, () => ports.files.list(call.tenant, volumeId, inVolume, LISTED)),
  );
  const names = entries
    .filter(({ name }) => !mounted.has(name))
    .map(({ name, kind }) => (kind === 'directory' ? `${name}/` : name));
  for (const name of mounted) names.push(`${name}/`);
  names.sort();
  if (truncated) names.push(`[only the first ${LISTED} entries are shown: use fs.glob]`);
  return names.join('\n');
}

async function makeDirectory({ files }: FilePorts, tenant: string, { path, volumeId, inVolume }: FilePlace) {
  try {
    await withFile(path, () => files.mkdir(tenant, volumeId, inVolume));
  } catch (thrown) {
    if (!(thrown instanceof ToolFailure) || thrown.code !== 'NotADirectory') throw thrown;
    const { cause } = thrown;
    throw new ToolFailure(
      'ALREADY_EXISTS',
      `${path}: a file exists at this path or at one of its parents`,
      'recoverable',
      cause,
    );
  }
}

/**
 * Most attempts of an edit. When another writer changes the file meanwhile, an edit that still fits is applied to the
 * new content.
 */
const EDIT_ATTEMPTS = 5;

/**
 * Applies all edits or none. Replaces the file atomically, and only if its content is still the content that was read.
 */
async function editFile(ports: FilePorts, call: ToolCall, given: string, edits: readonly Edit[]): Promise<string> {
  const { tenant, run } = call;
  const place = await placeOf(ports, call, given, 'write');
  checkRules(ports, run.scope, place.path, 'read');
  for (let attempt = 1; attempt <= EDIT_ATTEMPTS; attempt += 1) {
    const { text, bytes } = await readText(ports, tenant, place);
    const content = Buffer.from(applyEdits(text, edits));
    checkFileBytes(run, place.path, content.length);
    if (await replaced(ports, tenant, place, content, bytes)) return place.path;
    call.signal.throwIfAborted();
  }
  throw new ToolFailure(
    'FileChanged',
    `${place.path} was changed by others during each attempt of the edit: try again later`,
  );
}

async function replaced(
  { files }: FilePorts,
  tenant: string,
  { path, volumeId, inVolume }: FilePlace,
  content: Uint8Array,
  expected: Uint8Array,
): Promise<boolean> {
  return withFile(path, async () => {
    try {
      await files.write(tenant, volumeId, inVolume, content, { expected, byTool: true });
      return true;
    } catch (thrown) {
      if (thrown instanceof SvcError && thrown.code === 'conflict') return false;
      throw thrown;
    }
  });
}

interface Edit {
  readonly target_content: string;
  readonly replacement_content: string;
}

const SHOWN_CHARS = 80;

/** Applies the edits in order, each to the result of the one before. Throws `ToolFailure` naming the edit that does not fit. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let now = text;
  for (const [index, edit] of edits.entries()) {
    now = applyEdit(now, edit, edits.length === 1 ? '' : `edits[${index}]: `);
  }
  return now;
}

function applyEdit(text: string, { target_content, replacement_content }: Edit, which: string): string {
  const at = text.indexOf(target_content);
  const target = JSON.stringify(target_content.slice(0, SHOWN_CHARS));
  if (at === -1) {
    const advice = 'read the file and copy the text as it is';
    throw new ToolFailure('TextNotFound', `${which}target_content ${target} is not in the file: ${advice}`);
  }
  // Overlapping occurrences count too: the edit is just as ambiguous.
  if (text.indexOf(target_content, at + 1) !== -1) {
    const advice = 'make it longer, so that it is there exactly once';
    throw new ToolFailure('TextNotUnique', `${which}target_content ${target} is in the file more than once: ${advice}`);
  }
  return `${text.slice(0, at)}${replacement_content}${text.slice(at + target_content.length)}`;
}

/** Number of lines that the edits remove and add, for the summary. */
function changedLines(edits: readonly Edit[]): { readonly removed: number; readonly added: number } {
  const lines = (text: string): number => (text === '' ? 0 : text.split('\n').length);
  return {
    removed: edits.reduce((sum, { target_content }) => sum + lines(target_content), 0),
    added: edits.reduce((sum, { replacement_content }) => sum + lines(replacement_content), 0),
  };
}

type Matched = GrepResult['matches'][number];
interface Found<T> {
  readonly found: readonly T[];
  readonly ended: SearchEnd;
}

const MATCHES = 1_000;
const PATHS = 10_000;

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
  /** Path of the place below the start of the search; '' for the start itself. */
  under: string,
  left: (limit: number) => number,
) => Promise<{ readonly found: readonly { readonly item: T; readonly path: string }[]; readonly ended: SearchEnd }>;

/** Searches a directory and the volumes mounted below it. Omits files that a mount hides or that rules forbid. */
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
  found: 'there are more results than shown: make the pattern more precise',
  entries: 'incomplete, too many entries: start in a lower directory',
  time: 'incomplete, the search took too long: start in a lower directory',
};

/** The results, one on each line. The last line says why the search is incomplete. */
const reported = (lines: readonly string[], ended: SearchEnd): string =>
  (ended === null ? lines : [...lines, `[${ENDS[ended]}]`]).join('\n');
