import type { StdioOptions } from 'node:child_process';
import { openSync, readdirSync, readFileSync } from 'node:fs';

const STANDARD = 2;
const CLOSE_ON_EXEC = 0o2000000;

/** Highest of a program's own that `launch` asks for. */
type Stdio = Exclude<StdioOptions, string>;

let replaced: { readonly descriptors: readonly number[]; readonly nothing: number } | undefined;

/**
 * The same, with `/dev/null` in the place of every descriptor that whoever started this node left open in it: the node opens its own
 * so that no other program gets them, but cannot close those.
 */
export function withoutInherited(stdio: Stdio): Stdio {
  replaced ??= { descriptors: inheritable(), nothing: openSync('/dev/null', 'r+') };
  const all = [...stdio];
  for (const descriptor of replaced.descriptors) {
    if (descriptor < stdio.length) continue;
    while (all.length < descriptor) all.push('ignore');
    all[descriptor] = replaced.nothing;
  }
  return all;
}

/** Descriptors of this process that programs it starts would have too. Known on Linux only. */
function inheritable(): readonly number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc/self/fd')
    .map(Number)
    .filter((descriptor) => descriptor > STANDARD && !closesOnExec(descriptor))
    .sort((a, b) => a - b);
}

/** One that is closed meanwhile was this look's own. */
function closesOnExec(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
    return flags === undefined || (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    return true;
  }
}
