import { hash } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What a directory holds: names with kind, mode, owner, time of the last change, and content. */
export async function picture(directory: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const entry of ['', ...(await readdir(directory, { recursive: true }))]) {
    const path = join(directory, entry);
    const { mode, uid, gid, mtimeMs, size, nlink } = await lstat(path);
    const content = (await lstat(path)).isFile() ? hash('sha256', await readFile(path)) : '';
    found.set(entry, [mode, uid, gid, mtimeMs, size, nlink, content].join(' '));
  }
  return found;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

const pids = (): number[] => readdirSync('/proc').map(Number).filter(Number.isInteger);
const parentOf = (pid: number): number => Number(textOf(`/proc/${pid}/status`).match(/^PPid:\s+(\d+)/m)?.[1] ?? 0);

/** Processes below another, with their command lines. */
export function below(ancestor: number): string[] {
  const parents = new Map(pids().map((pid) => [pid, parentOf(pid)]));
  const isBelow = (pid: number): boolean => {
    for (let at = parents.get(pid); at !== undefined && at > 0; at = parents.get(at)) if (at === ancestor) return true;
    return false;
  };
  return [...parents.keys()].filter(isBelow).map((pid) => textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim());
}

/** Processes that work in a directory or have it in their environment, wherever they descend from. */
export function inDirectory(directory: string, except: readonly number[]): string[] {
  return pids()
    .filter((pid) => !except.includes(pid) && pid !== process.pid)
    .filter((pid) => workingIn(pid).startsWith(directory) || textOf(`/proc/${pid}/environ`).includes(directory))
    .map((pid) => `${pid} ${textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').slice(0, 200)}`);
}

function workingIn(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}

/** Local ports a process listens at, of TCP in both versions. */
export function listening(pid: number): string[] {
  const sockets = new Set<string>();
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1];
      if (inode !== undefined) sockets.add(inode);
    } catch {
      // Closed meanwhile.
    }
  }
  return ['tcp', 'tcp6']
    .flatMap((name) => textOf(`/proc/net/${name}`).split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode = '']) => state === '0A' && sockets.has(inode))
    .map(([, local = '']) => local)
    .sort();
}

/** Of a process: what is in memory now, and at most so far. */
export function memoryMiB(pid: number): { readonly now: number; readonly most: number } {
  const status = textOf(`/proc/${pid}/status`);
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1_024;
  return { now: of('VmRSS'), most: of('VmHWM') };
}

export const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Bytes on disk below a directory. */
export async function diskMiB(directory: string): Promise<number> {
  let blocks = 0;
  for (const entry of await readdir(directory, { recursive: true }).catch(() => [])) {
    blocks += (await lstat(join(directory, entry)).catch(() => ({ blocks: 0 }))).blocks;
  }
  return (blocks * 512) / (1_024 * 1_024);
}
