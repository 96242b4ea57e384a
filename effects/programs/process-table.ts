import { readdirSync, readFileSync } from 'node:fs';
import { systemCode } from '../../runtime/kit/system-code.ts';

/** Environment variable that marks all processes of a run, so that those outside its process group are found too. */
export const RUN_MARK = 'SVC_PROGRAM_RUN';

/** The process table of Linux. Empty on other systems. */
const PROC = '/proc';

export interface GroupUsage {
  readonly processes: number;
  /** Anonymous and shared memory of all processes, including swap. */
  readonly memoryBytes: number;
}

function pids(): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync(PROC)
    .map(Number)
    .filter((pid) => Number.isInteger(pid));
}

/** Null if the process has ended or belongs to another user. */
function read(pid: number, file: string): string | null {
  try {
    return readFileSync(`${PROC}/${pid}/${file}`, 'latin1');
  } catch {
    return null;
  }
}

/** Fields of `/proc/PID/stat` after the name: state, parent, group, … */
function statFields(pid: number): string[] | null {
  const stat = read(pid, 'stat');
  return stat === null ? null : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

/** Start of a process in clock ticks since boot, which distinguishes it from a later one of the same id. Null if it has ended. */
export function startTicks(pid: number): number | null {
  const fields = statFields(pid);
  return fields === null || fields[0] === 'Z' ? null : Number(fields[19]);
}

interface Entry {
  readonly parent: number;
  readonly group: number;
}

function processTable(): Map<number, Entry> {
  const table = new Map<number, Entry>();
  for (const pid of pids()) {
    const fields = statFields(pid);
    if (fields !== null) table.set(pid, { parent: Number(fields[1]), group: Number(fields[2]) });
  }
  return table;
}

/** Current usage of process groups, including descendants that left the group. */
export function groupUsages(groups: ReadonlySet<number>): Map<number, GroupUsage> {
  const table = processTable();
  const usages = new Map<number, GroupUsage>();
  for (const pid of table.keys()) {
    const group = groupAbove(pid, table, groups);
    if (group === null) continue;
    const before = usages.get(group) ?? { processes: 0, memoryBytes: 0 };
    const memoryBytes = before.memoryBytes + memoryOf(read(pid, 'status') ?? '');
    usages.set(group, { processes: before.processes + 1, memoryBytes });
  }
  return usages;
}

/** The child of a process that leads its own group, or null. */
export function sessionBelow(parent: number): number | null {
  for (const [pid, entry] of processTable()) if (entry.parent === parent && entry.group === pid) return pid;
  return null;
}

const DEEPEST = 10_000;

function groupAbove(pid: number, table: ReadonlyMap<number, Entry>, groups: ReadonlySet<number>): number | null {
  for (let [at, steps] = [table.get(pid), 0]; at !== undefined && steps < DEEPEST; steps += 1) {
    if (groups.has(at.group)) return at.group;
    at = table.get(at.parent);
  }
  return null;
}

const STOP_ROUNDS = 20;

/**
 * Kills a group with all its descendants, also those that left it. Stops all of them first: a process killed while others
 * still fork leaves children that cannot be attributed.
 */
export function killTree(group: number): void {
  const stopped = new Set<number>();
  for (let round = 0; round < STOP_ROUNDS; round += 1) {
    const table = processTable();
    const fresh = [...table.keys()].filter(
      (pid) => !stopped.has(pid) && groupAbove(pid, table, new Set([group])) !== null,
    );
    if (fresh.length === 0) break;
    for (const pid of fresh) {
      stopped.add(pid);
      signal(pid, 'SIGSTOP');
    }
  }
  for (const pid of stopped) signal(pid, 'SIGKILL');
}

function memoryOf(status: string): number {
  let kib = 0;
  for (const [, value] of status.matchAll(/^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB/gm)) kib += Number(value);
  return kib * 1_024;
}

/** Processes with the mark of a run in their environment. */
export function markedProcesses(run: string): number[] {
  const mark = `${RUN_MARK}=${run}`;
  return pids().filter((pid) => read(pid, 'environ')?.split('\0').includes(mark));
}

/** Sends a signal to a process, or to a group if `pid` is negative. No error if it has ended. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!['ESRCH', 'EPERM'].includes(systemCode(error))) throw error;
  }
}
