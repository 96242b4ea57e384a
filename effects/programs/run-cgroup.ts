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

/** What one run is put into before its program starts. */
export interface RunCgroup {
  /** The file that a process writes its id into to enter, it and all it will start. */
  readonly entry: string;
  /** Whether the system refused it a process for the limit. */
  refused(): boolean;
}

/** The launcher and the view need a process or two of their own. */
const WRAPPERS = 2;
const ROUNDS = 100;
const BETWEEN_MS = 10;
const CGROUPS = '/sys/fs/cgroup';

/**
 * A control group for each run with a bound on its processes that the system itself holds: a fork beyond it fails. It also knows
 * every process of the run, those that left its group and dropped its mark too.
 */
export class RunCgroups {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Throws what the file system says when it cannot be made. */
  async open(id: string, processes: number): Promise<RunCgroup> {
    const directory = this.#of(id);
    await mkdir(directory);
    await writeFile(join(directory, 'pids.max'), String(processes + WRAPPERS));
    const events = join(directory, 'pids.events');
    return { entry: join(directory, 'cgroup.procs'), refused: () => !/^max 0$/m.test(textOf(events)) };
  }

  /** Ends all processes of a run; one that has no group is fine. */
  async end(id: string): Promise<void> {
    const directory = this.#of(id);
    if (!existsSync(directory)) return;
    // Nothing of it starts another process while it is ended.
    await writeFile(join(directory, 'pids.max'), '0').catch(() => {});
    for (let round = 0; round < ROUNDS; round += 1) {
      const pids = (await readFile(join(directory, 'cgroup.procs'), 'latin1').catch(() => '')).split('\n').map(Number);
      for (const pid of pids) if (pid > 1) signal(pid, 'SIGKILL');
      // Refused while one of them has not been waited for.
      if (await rmdir(directory).then(() => true, isGone)) return;
      await pause(BETWEEN_MS);
    }
  }

  #of(id: string): string {
    return join(this.#directory, `svc-run-${id}`);
  }
}

const isGone = (error: NodeJS.ErrnoException): boolean => error.code === 'ENOENT';

/** A group without the file refused nothing. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return 'max 0';
  }
}

const ofThisNode = new Lazy(openRunCgroups);

/** Those of this node, found out by using one once; null where it may not, and the watch alone bounds its runs. */
export const runCgroups = (): Promise<RunCgroups | null> => ofThisNode.get();

/** Tries below the groups the node is in itself. */
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
 * Where groups may be made below the node's own, by what /proc/self/cgroup says: version 1 has a tree for each controller,
 * version 2 one for all. A path that is not there is the one outside of a container, which sees its own at the top.
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

/** A shell in a group for one process may start none. */
async function works(cgroups: RunCgroups, directory: string): Promise<boolean> {
  if (!existsSync(join(directory, 'cgroup.procs'))) return false;
  const id = `probe-${randomUUID()}`;
  try {
    await handControllerDown(directory);
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
 * Version 2 bounds processes only of groups whose parent hands the controller down, and then the parent may hold no process:
 * a node that is alone in its group moves one level down, as a service with a delegated group does.
 */
async function handControllerDown(directory: string): Promise<void> {
  const control = join(directory, 'cgroup.subtree_control');
  if (!existsSync(control) || (await readFile(control, 'utf8')).split(/\s/).includes('pids')) return;
  const given = await writeFile(control, '+pids').then(
    () => true,
    () => false,
  );
  if (given) return;
  const inside = (await readFile(join(directory, 'cgroup.procs'), 'utf8')).trim().split('\n');
  if (inside.length !== 1 || inside[0] !== String(process.pid)) return;
  const node = join(directory, 'svc-node');
  await mkdir(node, { recursive: true });
  await writeFile(join(node, 'cgroup.procs'), String(process.pid));
  await writeFile(control, '+pids');
}
