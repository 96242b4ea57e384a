import { z } from 'zod';
import { ToolSubject } from '../tool/call.ts';
import { GrantRequest } from '../tool/scope.ts';

const WORKSPACE = '/workspace';

/** Why `workspaceFile` refuses a path. */
export const EXPECTED_FILE = `expected a file of the workspace: a relative path, or one below ${WORKSPACE}, without ".." in it`;

/**
 * The absolute path of a file that a validator names; null when it is not in the workspace. `inImage`: an absolute path may
 * also name a file of the agent's image.
 */
export function workspaceFile(given: string, { inImage = false }: { readonly inImage?: boolean } = {}): string | null {
  const all = given.split('/');
  if (all.includes('..') || given.endsWith('/') || [...given].some((char) => char < ' ')) return null;
  const parts = all.filter((part) => part !== '' && part !== '.');
  const path = `${given.startsWith('/') ? '' : WORKSPACE}/${parts.join('/')}`;
  if (parts.length === 0 || path === WORKSPACE) return null;
  return inImage || path.startsWith(`${WORKSPACE}/`) ? path : null;
}

const path = z.string().startsWith('/').max(1_100);

/**
 * Input of the effect `files.read` (repeatable): files that a validator checks. They are read under the rules of `fs.read`,
 * whether or not the agent has that tool, because the author of the manifest names them.
 */
export const FilesRequest = z.object({
  files: z
    .array(z.object({ path, max_bytes: z.int().min(1) }))
    .min(1)
    .max(2),
  /** With manifest null: `spec.tools` does not apply. */
  grant: GrantRequest,
  subject: ToolSubject,
});

export type FilesRequest = z.output<typeof FilesRequest>;

/** Its result: one entry for each file, in their order. `unreadable`: the reason, for the next prompt. */
export const FilesResult = z.object({
  files: z.array(
    z.discriminatedUnion('status', [
      z.object({ status: z.literal('read'), text: z.string() }),
      z.object({ status: z.literal('unreadable'), reason: z.string() }),
    ]),
  ),
});

export type FilesResult = z.output<typeof FilesResult>;

/**
 * Input of the effect `script.run` (repeatable): the script of a validator, a command of the execution without arguments. The
 * rules of `cmd.run` apply; `grant` has the script as its only allowed command.
 */
export const ScriptRequest = z.object({
  path,
  /** Its standard input: the output of the iteration. */
  input: z.string(),
  timeout_ms: z.int().min(1),
  grant: GrantRequest,
  subject: ToolSubject,
});

export type ScriptRequest = z.output<typeof ScriptRequest>;

/** Result of `script.run` and of `script.container`. */
export const ScriptResult = z.discriminatedUnion('status', [
  z.object({
    status: z.literal('ended'),
    exit_code: z.int(),
    /** The end of its output: standard output, then standard error. */
    output: z.string(),
    /** The limit at which it was stopped. */
    stopped_by: z.string().max(100).optional(),
    /** Its time limit, milliseconds. */
    timeout_ms: z.int(),
  }),
  /** For example, it does not exist or is not executable. */
  z.object({ status: z.literal('not_started'), reason: z.string() }),
]);

export type ScriptResult = z.output<typeof ScriptResult>;

const OUTPUT_CHARS = 8 * 1024;

/** `output` of a result: the end of both streams, each bounded. */
export function scriptOutput({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }): string {
  const end = (text: string): string => text.trim().slice(-OUTPUT_CHARS).toWellFormed();
  return [end(stdout), end(stderr)].filter((text) => text !== '').join('\n');
}

/** Limits of the files that validators read. */
export const CHECK_LIMITS = {
  /** The checked text, UTF-8 bytes. */
  targetBytes: 1024 * 1024,
  schemaBytes: 64 * 1024,
  /** Values in a schema: an agent may have written it, and the time to compile it grows faster than its size. */
  schemaValues: 1_500,
} as const;
