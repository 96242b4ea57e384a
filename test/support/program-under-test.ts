import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { ProgramInput } from '../../effects/programs/input.ts';
import { createProgramEffect, type ProgramEffectOptions } from '../../effects/programs/program-effect.ts';
import { addressOf } from '../../runtime/address.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Json } from '../../runtime/json.ts';
import { effectContext } from './effect-context.ts';

/** A private directory with programs and workspaces, and `program.run` over it. */
export interface ProgramsUnderTest {
  readonly directory: string;
  readonly workspaces: string;
  /** Writes an executable script and answers its path. */
  script(text: string): Promise<string>;
  run(
    input: Partial<z.input<typeof ProgramInput>> & { readonly path: string },
    options?: { readonly signal?: AbortSignal; readonly tenant?: string; readonly progress?: (value: Json) => boolean },
  ): Promise<z.output<typeof ProgramResult>>;
  close(): Promise<void>;
}

/** Result of a program, written by hand from the documentation. */
export const ProgramResult = z.strictObject({
  exit_code: z.number().int(),
  signal: z.string().optional(),
  stdout: z.string(),
  stderr: z.string(),
  duration_ms: z.number(),
  stdout_truncated: z.boolean(),
  stderr_truncated: z.boolean(),
  timed_out: z.boolean(),
  stopped_by: z.enum(['timeout', 'memory', 'processes']).optional(),
});

/** Secrets of the tests by reference. */
export const SECRETS: Readonly<Record<string, string>> = {
  'secret:KEY': 'hunter2-very-secret',
  'config:REGION': 'eu-north',
};

export async function programsUnderTest(options: Partial<ProgramEffectOptions> = {}): Promise<ProgramsUnderTest> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-programs-'));
  const workspaces = join(directory, 'workspaces');
  const effect = createProgramEffect({
    workspaces,
    allow: (tenant) => tenant === 'acme',
    secrets: {
      async resolve(_tenant, reference) {
        const value = SECRETS[reference];
        if (value === undefined) throw new SvcError('failed_precondition', `${reference} is not set`);
        return value;
      },
    },
    baseDirectory: directory,
    killGraceMs: 300,
    ...options,
  });
  return {
    directory,
    workspaces,
    async script(text) {
      const path = join(directory, `program-${randomUUID()}`);
      await writeFile(path, text);
      await chmod(path, 0o755);
      return path;
    },
    async run(given, { signal, tenant = 'acme', progress } = {}) {
      const defaults = { args: [], env: {}, execution_id: 'e1', limits: { timeout_ms: 20_000 } };
      const input = ProgramInput.parse({ ...defaults, ...given });
      const context = effectContext({
        tenant,
        address: addressOf('execution', tenant, 'e1'),
        signal: signal ?? new AbortController().signal,
        progress: async (value) => progress?.(value) ?? true,
      });
      return ProgramResult.parse(await effect.run(input, context));
    },
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Whether a process runs; a zombie does not. */
export async function alive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat !== null && stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) !== 'Z';
}

export const recorded = (workspaces: string): Promise<string[]> =>
  readdir(join(workspaces, '.programs')).catch(() => []);
