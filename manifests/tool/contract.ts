import { z } from 'zod';
import { STORED_ABOVE_BYTES } from './call.ts';
import type { ToolScope } from './scope.ts';

/** The resources of a call's arguments, for the constraints of capabilities and manifests. */
export interface Touches {
  /** Paths, absolute or relative to /workspace as the caller wrote them, each with its access. */
  readonly paths?: readonly { readonly field: string; readonly path: string; readonly access: 'read' | 'write' }[];
  /** Host names. */
  readonly domains?: readonly { readonly field: string; readonly domain: string }[];
  /** Set when it uses the network without a host of the caller's choice: a search. */
  readonly network?: true;
  readonly command?: { readonly base: string; readonly first: string | null };
}

/** The pure part of a built-in tool. Its handler is in `tools/`. */
export interface ToolContract<Input extends z.ZodType = z.ZodType> {
  /** `fs.read`. */
  readonly name: string;
  /** Aliases such as `fs.create.dir`. The tool is offered and checked under the name above. */
  readonly aliases?: readonly string[];
  /** For the model and for people, one or two sentences. */
  readonly description: string;
  readonly input: Input;
  /** Schema of the structured result, if any: published as the output schema, and checked by tests. */
  readonly result?: z.ZodType;
  /** The compiled default of `skip_judge` (W32). */
  readonly skipJudge: boolean;
  readonly mode: 'repeatable' | 'once';
  /** Whether it is read-only. */
  readonly reads: boolean;
  readonly runs: 'node' | 'agent';
  /** Pure. Absent: the call uses no constrained resource. */
  touches?(input: z.output<Input>): Touches;
}

/** Result of a command (W44). */
export interface CommandStreams {
  readonly stdout: string;
  readonly stderr: string;
}

/** Errors of a command, the same wherever it ran. */
export interface CommandFailure {
  readonly code: 'CommandNotFound' | 'ExecTimeoutCeilingExceeded' | 'OutputSizeLimitExceeded';
  readonly message: string;
}

const TAIL_CHARS = 500;

/** Length of the output's end in errors. */
export const COMMAND_TAIL_CHARS = TAIL_CHARS + 1;

const tail = (text: string): string => (text.length > TAIL_CHARS ? `…${text.slice(-TAIL_CHARS)}` : text);

/** The end of its output up to then. */
export const outputUntilThen = ({ stdout, stderr }: CommandStreams): string =>
  `Its output until then: ${JSON.stringify({ stdout: tail(stdout), stderr: tail(stderr) })}`;

export const commandNotFound = (command: string): CommandFailure => ({
  code: 'CommandNotFound',
  message: `${command}: command not found; use another command`,
});

export const commandTooLong = (timeoutSecs: number, streams: CommandStreams): CommandFailure => ({
  code: 'ExecTimeoutCeilingExceeded',
  message: `the command ran longer than ${timeoutSecs} s and was ended. ${outputUntilThen(streams)}`,
});

export const commandTooMuch = (maxBytes: number, streams: CommandStreams): CommandFailure => ({
  code: 'OutputSizeLimitExceeded',
  message: `the command wrote more than ${maxBytes} bytes: let it write to a file. ${outputUntilThen(streams)}`,
});

/** `spec.security` of a manifest, for programs and commands on the host. */
export const ProgramRules = z.object({
  /** `open`: the whole network; `none`: none, by the manifest; `closed`: restricted, as by default. */
  network: z.enum(['open', 'closed', 'none']),
  read_only: z.boolean(),
});

export type ProgramRules = z.output<typeof ProgramRules>;

/** Lists of domains or paths cannot be enforced for a program, so a partly allowed network is closed. */
export function programRules({ network, filesystem }: Pick<ToolScope, 'network' | 'filesystem'>): ProgramRules {
  const all = network?.mode === 'allow' && network.allowlist.length === 0 && network.denylist.length === 0;
  const closed = network?.mode === 'none' ? 'none' : 'closed';
  return { network: all ? 'open' : closed, read_only: filesystem?.read_only === true };
}

const HEAD_BYTES = STORED_ABOVE_BYTES / 2;

type TextPart = { type: 'text'; text: string };

export const textContent = (text: string): TextPart[] => [{ type: 'text', text }];

/** Content of a result that is stored as a blob: its beginning, cut between characters, and a note about the rest. */
export function storedContent(text: string): TextPart[] {
  const bytes = Buffer.from(text);
  const head = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES), { stream: true });
  const shown = Math.min(bytes.length, HEAD_BYTES);
  const note = `[the first ${shown} bytes of a larger result; it is kept whole with the execution]`;
  return [...textContent(head), ...textContent(note)];
}
