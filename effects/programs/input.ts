import { z } from 'zod';
import { ProgramRules } from '../../manifests/tool/contract.ts';
import { SvcError } from '../../runtime/errors.ts';
import { EnvironmentName, text } from '../../usecases/ports/commands.ts';
import { Mounts } from './mounts.ts';
import type { ProgramView } from './view.ts';

const MiB = 1024 * 1024;

/** What a name of a directory below the workspaces may be. */
export const Segment = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._@-]{0,127}$/, 'an id of letters, digits and . _ @ -');

export const ProgramLimits = z.object({
  /** Longest run; then the process group gets TERM, and KILL after the grace. */
  timeout_ms: z
    .number()
    .int()
    .min(1)
    .max(24 * 3_600_000),
  /** Memory of all its processes together (anonymous and shared), sampled. */
  memory_bytes: z.number().int().min(MiB).nullish(),
  /** Processor time as a share of the longest run, for each process: 500 is half a core. */
  cpu_millicores: z.number().int().min(1).nullish(),
  /** Kept of each of stdout and stderr. */
  output_bytes: z
    .number()
    .int()
    .min(1)
    .max(16 * MiB)
    .default(MiB),
  /** Of both streams together: beyond it the process group is killed. */
  total_output_bytes: z.number().int().min(1).nullish(),
  processes: z.number().int().min(1).max(10_000).default(256),
  open_files: z.number().int().min(16).max(65_536).default(1_024),
  /** Largest file it may write. */
  file_bytes: z
    .number()
    .int()
    .min(512)
    .default(1024 * MiB),
});

export type ProgramLimits = z.output<typeof ProgramLimits>;

export const ProgramInput = z.object({
  /** Program on this host; a relative path starts at the configured base directory. */
  path: text('path').min(1).max(4_096),
  args: z.array(text('an argument')).max(256),
  /** Values: `secret:NAME`, `config:NAME`, `literal:TEXT`, or the text itself (W22). */
  env: z.record(EnvironmentName, text('an environment value')),
  execution_id: Segment,
  /** Volumes of the workflow it belongs to. */
  mounts: Mounts.optional(),
  limits: ProgramLimits,
  /** What its manifest allows; absent in what an older node asked for: nothing of the network, all of its workspace. */
  rules: ProgramRules.optional(),
});

export type ProgramInput = z.output<typeof ProgramInput>;

/**
 * What rules mean to a program in a view. Throws `unsupported_isolation` naming the rule where the manifest asks for one that
 * nothing would enforce: such a program is refused, the rule never ignored.
 */
export function confined(
  view: ProgramView | null,
  { network, read_only }: ProgramRules,
): { readonly network: 'none' | 'host'; readonly readOnly: boolean } {
  if (view?.confines !== true) {
    if (network === 'none') throw unenforced('network', 'mode none');
    if (read_only) throw unenforced('filesystem', 'read_only');
    return { network: 'host', readOnly: false };
  }
  return { network: network === 'open' ? view.network : 'none', readOnly: read_only };
}

function unenforced(field: 'network' | 'filesystem', rule: string): SvcError {
  const text = `spec.security.${field}: this node cannot enforce ${rule} for commands: it has no sandbox (install bubblewrap)`;
  return new SvcError('unsupported_isolation', text, { field: `spec.security.${field}` });
}

interface Line {
  held: number;
  readonly waiting: (() => void)[];
}

/** So many at a time for each key; the others wait, first come first served. In this process only. */
export class Places {
  readonly #lines = new Map<string, Line>();

  /** Resolves with what gives the place back. Throws the signal's reason when that comes first. */
  async take(key: string, most: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const line = this.#lines.get(key) ?? { held: 0, waiting: [] };
    this.#lines.set(key, line);
    if (line.held < most) line.held += 1;
    else await handedOver(line, signal);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#giveBack(key, line);
    };
  }

  /** A place goes to the next in line without becoming free in between. */
  #giveBack(key: string, line: Line): void {
    const next = line.waiting.shift();
    if (next !== undefined) next();
    else {
      line.held -= 1;
      if (line.held === 0) this.#lines.delete(key);
    }
  }
}

function handedOver(line: Line, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const mine = (): void => {
      signal.removeEventListener('abort', leave);
      resolve();
    };
    const leave = (): void => {
      line.waiting.splice(line.waiting.indexOf(mine), 1);
      reject(signal.reason);
    };
    line.waiting.push(mine);
    signal.addEventListener('abort', leave, { once: true });
  });
}
