import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Lazy } from '../../runtime/kit/lazy.ts';
import { signal } from './process-table.ts';

const run = promisify(execFile);

/** The control group of one run. */
export interface RunCgroup {
  /** A process enters the group, with all its later children, by writing its id to this file. */
  readonly entry: string;
  /** Whether the system has refused a process because of the limit. */
  refused(): boolean;
}

/** Processes of the launcher and the view. */
const WRAPPERS = 2;
const ROUNDS = 100;
const BETWEEN_MS = 10;
const CGROUPS = '/sys/fs/cgroup';

/**
 * A control group for each run, in which the system limits the number of processes: further forks fail. It also knows all
 * processes of the run, even those that left its process group and removed its mark.
 */
export class RunCgroups {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Creates the group of a run. Throws errors of the file system. */
  async open(id: string, processes: number): Promise<RunCgroup> {
    const directory = this.#of(id);
    await mkdir(directory);
    await writeFile(join(directory, 'pids.max'), String(processes + WRAPPERS));
    const events = join(directory, 'pids.events');
    return { entry: join(directory, 'cgroup.procs'), refused: () => !/^max 0$/m.test(textOf(events)) };
  }

  /** Kills all processes of a run and removes its group, if it has one. */
  async end(id: string): Promise<void> {
    const directory = this.#of(id);
    if (!existsSync(directory)) return;
    // Prevents new processes while the others are killed.
    await writeFile(join(directory, 'pids.max'), '0').catch(() => {});
    for (let round = 0; round < ROUNDS; round += 1) {
      const pids = (await readFile(join(directory, 'cgroup.procs'), 'latin1').catch(() => '')).split('\n').map(Number);
      for (const pid of pids) if (pid > 1) signal(pid, 'SIGKILL');
      // Fails while a killed process is not reaped yet.
      if (await rmdir(directory).then(() => true, isGone)) return;
      await pause(BETWEEN_MS);
    }
  }

  #of(id: string): string {
    return join(this.#directory, `svc-run-${id}`);
  }
}

const isGone = (error: NodeJS.ErrnoException): boolean => error.code === 'ENOENT';

/** A group without this file has refused nothing. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return 'max 0';
  }
}

const ofThisNode = new Lazy(openRunCgroups);

/** The control groups of this node, tested once; null if it cannot use them, so that only the watch limits runs. */
export const runCgroups = (): Promise<RunCgroups | null> => ofThisNode.get();

/** Tries to create groups below those of the node itself. */
export async function openRunCgroups(): Promise<RunCgroups | null> {
  if (process.platform !== 'linux') return null;
  const own = await readFile('/proc/self/cgroup', 'utf8').catch(() => '');
  for (const directory of candidates(own)) {
    const cgroups = new RunCgroups(directory);
    if (await works(cgroups, directory)) return cgroups;
  }
  return null;
}

/**
 * Directories of the node's own groups, from /proc/self/cgroup: version 1 has a tree for each controller, version 2 one for
 * all. In a container the path does not exist, and its own group is the top.
 */
export function candidates(own: string, exists: (path: string) => boolean = existsSync): readonly string[] {
  const fields = own.split('\n').map((line) => line.split(':'));
  return [
    { mount: join(CGROUPS, 'pids'), line: fields.find(([, names]) => names?.split(',').includes('pids')) },
    { mount: CGROUPS, line: fields.find(([number, names]) => number === '0' && names === '') },
  ].flatMap(({ mount, line }) => {
    if (line === undefined) return [];
    const path = join(mount, line.slice(2).join(':')).replace(/\/$/, '');
    return [exists(path) ? path : mount];
  });
}

/** Tests that a shell in a group for one process cannot fork. */
async function works(cgroups: RunCgroups, directory: string): Promise<boolean> {
  if (!existsSync(join(directory, 'cgroup.procs'))) return false;
  const id = `probe-${randomUUID()}`;
  try {
    await enableController(directory);
    const { entry, refused } = await cgroups.open(id, 1 - WRAPPERS);
    const script = 'echo $$ > "$1" && (:) 2>/dev/null; echo in';
    await run('/bin/sh', ['-c', script, 'svc-probe', entry], { timeout: 10_000, env: {} }).catch(() => {});
    return refused();
  } catch {
    return false;
  } finally {
    await cgroups.end(id);
  }
}

/**
 * Version 2 limits processes only in groups whose parent enables the controller, and such a parent may contain no process. So
 * a node that is alone in its group moves itself one level down, like a service with a delegated group.
 */
async function enableController(directory: string): Promise<void> {
  const control = join(directory, 'cgroup.subtree_control');
  if (!existsSync(control) || (await readFile(control, 'utf8')).split(/\s/).includes('pids')) return;
  const enabled = await writeFile(control, '+pids').then(
    () => true,
    () => false,
  );
  if (enabled) return;
  const inside = (await readFile(join(directory, 'cgroup.procs'), 'utf8')).trim().split('\n');
  if (inside.length !== 1 || inside[0] !== String(process.pid)) return;
  const node = join(directory, 'svc-node');
  await mkdir(node, { recursive: true });
  await writeFile(join(node, 'cgroup.procs'), String(process.pid));
  await writeFile(control, '+pids');
}
