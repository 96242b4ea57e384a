import { mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { jsonOrNull } from '../../runtime/json.ts';
import { markedProcesses, signal, startTicks } from './process-table.ts';
import { runCgroups } from './run-cgroup.ts';

/** Directory below the workspaces; no tenant's name starts with a dot. */
const RECORDS = '.programs';
/** Workspaces of single commands, removed after each. */
export const PRIVATE = '.commands';
/** A process may fork between being found and being killed. */
const ROUNDS = 10;
const RESCAN_MS = 10;

const Record = z.object({ run: z.string(), group: z.number().int().optional(), started: z.number().optional() });

/** Bytes of a record, filled up with spaces. */
const RECORD_BYTES = 256;

/**
 * Records a run before it starts, and its process group once that is known. The second write replaces the bytes of the first,
 * so that it needs no space: a disk that becomes full after the start must not end the program.
 */
export async function recordRun(workspaces: string, run: string, group?: number): Promise<void> {
  const directory = join(workspaces, RECORDS);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const started = group === undefined ? undefined : (startTicks(group) ?? undefined);
  const text = JSON.stringify({ run, group, started }).padEnd(RECORD_BYTES);
  const file = await open(join(directory, run), group === undefined ? 'w' : 'r+', 0o600);
  try {
    await file.write(text, 0);
  } finally {
    await file.close();
  }
}

/** Kills all processes of a run, also those that left its process group, and deletes its record. */
export async function endRun(workspaces: string, run: string): Promise<void> {
  await (await runCgroups())?.end(run);
  await killMarked(run);
  await rm(join(workspaces, RECORDS, run), { force: true });
}

/**
 * Kills programs that survived an earlier process of this node. Call it at start, before the first program: the caller holds
 * the lock of the data directory, so every recorded run is a leftover. Returns the number of recorded runs.
 */
export async function endLeftovers(workspaces: string): Promise<number> {
  const names = await readdir(join(workspaces, RECORDS)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  for (const name of names) {
    const group = await recordedGroup(join(workspaces, RECORDS, name));
    if (group !== null) signal(-group, 'SIGKILL');
    await endRun(workspaces, name);
  }
  await rm(join(workspaces, PRIVATE), { recursive: true, force: true });
  return names.length;
}

/** The recorded group, if its leader is still the same process, since ids are reused. */
async function recordedGroup(file: string): Promise<number | null> {
  const text = await readFile(file, 'utf8');
  // A crash may have truncated the record; the mark still finds the processes.
  const parsed = Record.safeParse(jsonOrNull(text));
  if (!parsed.success) return null;
  const { group, started } = parsed.data;
  if (group === undefined || group <= 1 || started === undefined) return null;
  return startTicks(group) === started ? group : null;
}

/** One scan can miss a process that forks or execs at that moment, so two scans in a row must find none. */
async function killMarked(run: string): Promise<void> {
  for (let [round, clean] = [0, 0]; round < ROUNDS && clean < 2; round += 1) {
    const found = markedProcesses(run);
    for (const pid of found) signal(pid, 'SIGKILL');
    clean = found.length === 0 ? clean + 1 : 0;
    if (clean === 1) await pause(RESCAN_MS);
  }
}
