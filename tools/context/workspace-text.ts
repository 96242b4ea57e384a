import { CONTEXT_LIMITS } from '../../manifests/agent/context.ts';
import { SvcError } from '../../runtime/errors.ts';
import { fsList, fsRead } from '../files/contracts.ts';
import { directoryOf, type FileCaller, type FilePorts, mountNames, placeOf } from '../files/places.ts';
import { readText, unlessMissing, withFile } from '../files/text-file.ts';
import { ToolFailure } from '../tool.ts';

/** The limits and the progress of one effect's reads. */
export interface Reading {
  readonly ports: FilePorts;
  readonly caller: FileCaller;
  /** Whether the rules allow this access. */
  may(
    tool: string,
    args: Readonly<Record<string, string>>,
  ): { readonly allowed: true; readonly maxBytes: number } | { readonly allowed: false; readonly why: string };
  /** UTF-8 bytes that may still be read. */
  leftBytes: number;
  readonly signal: AbortSignal;
}

/** The text of a file. Throws `ToolFailure` or `SvcError`. */
export async function fileText(reading: Reading, given: string): Promise<string> {
  const { text } = await read(reading, given, reading.leftBytes);
  return text;
}

/**
 * The text files in a directory and below it, sorted by name, each with its path. Files that the rules of the agent forbid, and
 * links, are skipped; binary files are only named. Throws `ToolFailure` or `SvcError`.
 */
export async function directoryText(reading: Reading, given: string): Promise<string> {
  const parts: string[] = [];
  let left = reading.leftBytes;
  let files = 0;
  for await (const path of filesBelow(reading, directoryOf(given), 0)) {
    files += 1;
    if (files > CONTEXT_LIMITS.files) throw tooMuch(`has more than ${CONTEXT_LIMITS.files} files`);
    if (!reading.may(fsRead.name, { path }).allowed) continue;
    const part = `### ${path}\n${await textOrNote(reading, path, left)}`;
    left -= Buffer.byteLength(part) + 2;
    if (left < 0) throw tooMuch(`has more than ${CONTEXT_LIMITS.bytes} bytes with all else that is read`);
    parts.push(part);
  }
  return parts.length === 0 ? '[no files]' : parts.join('\n\n');
}

const tooMuch = (what: string): SvcError =>
  new SvcError('payload_too_large', `the directory ${what}: name a lower directory, or single files`);

async function textOrNote(reading: Reading, path: string, leftBytes: number): Promise<string> {
  try {
    return (await read(reading, path, leftBytes)).text;
  } catch (thrown) {
    if (thrown instanceof ToolFailure && thrown.code === 'BinaryFile') return '[not text]';
    throw thrown;
  }
}

async function read(
  { ports, caller, may, signal }: Reading,
  given: string,
  leftBytes: number,
): Promise<{ readonly text: string }> {
  signal.throwIfAborted();
  const decision = may(fsRead.name, { path: given });
  if (!decision.allowed) throw new SvcError('forbidden', decision.why);
  const place = await placeOf(ports, caller, given, 'read');
  const { text, bytes } = await readText(ports, caller.tenant, place);
  const most = Math.min(decision.maxBytes, leftBytes);
  if (bytes.length <= most) return { text };
  throw new SvcError('payload_too_large', `${place.path} has ${bytes.length} bytes; ${most} more may be read`);
}

/** Paths of the files below a directory, by name; directories that are mounted there are part of it. */
async function* filesBelow(reading: Reading, given: string, depth: number): AsyncGenerator<string> {
  const { ports, caller, may, signal } = reading;
  signal.throwIfAborted();
  if (depth > CONTEXT_LIMITS.depth) throw tooMuch(`has directories more than ${CONTEXT_LIMITS.depth} levels deep`);
  const decision = may(fsList.name, { path: given });
  if (!decision.allowed) {
    if (depth > 0) return;
    throw new SvcError('forbidden', decision.why);
  }
  const { path, volumeId, inVolume } = await placeOf(ports, caller, given, 'read');
  const mounted = new Set(mountNames(caller, path));
  const { entries, truncated } = await unlessMissing({ entries: [], truncated: false }, mounted.size > 0, () =>
    withFile(path, () => ports.files.list(caller.tenant, volumeId, inVolume, CONTEXT_LIMITS.entries)),
  );
  if (truncated) throw tooMuch(`has more than ${CONTEXT_LIMITS.entries} entries at ${path}`);
  const kinds = new Map([
    ...entries.map(({ name, kind }) => [name, kind] as const),
    ...[...mounted].map((name) => [name, 'directory' as const] as const),
  ]);
  for (const name of [...kinds.keys()].sort()) {
    const below = `${path}/${name}`;
    if (kinds.get(name) === 'file') yield below;
    if (kinds.get(name) === 'directory') yield* filesBelow(reading, below, depth + 1);
  }
}
