import { StringDecoder } from 'node:string_decoder';
import { z } from 'zod';
import { KnownVolume } from '../../manifests/metadata.ts';
import { EnvironmentName, Segment, text } from '../programs/input.ts';
import { Mounts } from '../programs/mounts.ts';

const MAX_TIMEOUT_MS = 24 * 3_600_000;

const MAX_VARIABLES = 256;

const MAX_ENV_BYTES = 512 * 1024;

const Environment = z
  .record(EnvironmentName, text('an environment value'))
  .refine((env) => Object.keys(env).length <= MAX_VARIABLES, `at most ${MAX_VARIABLES} variables`)
  .refine(
    (env) =>
      Object.entries(env).reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value), 0) <=
      MAX_ENV_BYTES,
    `at most ${MAX_ENV_BYTES} bytes together`,
  );

/** One shell command, as a workflow's System state or a caller of ExecuteSystemCommand asks for it. */
export const Command = z.object({
  command: text('the command').min(1, 'a command'),
  /** Plain text: references such as `secret:NAME` are not looked up, since values may come from a user's input. */
  env: Environment.default({}),
  /** At or under `/workspace`; a relative one starts there. It is made when it is missing. */
  workdir: text('workdir').max(1_024).default('/workspace'),
  timeout_ms: z.number().int().min(1).max(MAX_TIMEOUT_MS),
});

export type Command = z.output<typeof Command>;

/** Input of the effect `command.run`. */
export const CommandInput = Command.extend({
  execution_id: Segment,
  state_name: z.string().max(256).optional(),
  /** `implicit`: the workspace of an execution without storage, made by the first that needs it. */
  workspace: z.object({
    volume_id: z.string().min(1).max(128),
    implicit: z.boolean(),
    /** Absent in what a run asked for that did not know it yet: then its record is looked up. */
    known: KnownVolume.optional(),
  }),
  mounts: Mounts.optional(),
});

export type CommandInput = z.output<typeof CommandInput>;

interface Streams {
  readonly stdout: string;
  readonly stderr: string;
}

/** Both streams within so many bytes: bytes that are no UTF-8 became three each, so text may be longer than its bytes. */
export function fitted({ stdout, stderr }: Streams, maxBytes: number): Streams {
  const kept = head(stdout, maxBytes);
  return { stdout: kept, stderr: head(stderr, maxBytes - Buffer.byteLength(kept)) };
}

/** Half a character at the cut is left out. */
function head(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  return new StringDecoder('utf8').write(Buffer.from(text).subarray(0, bytes));
}
