import { z } from 'zod';
import { STORED_ABOVE_BYTES } from './call.ts';
import type { ToolScope } from './scope.ts';

/** What the arguments of a call touch, for the constraints of capabilities and manifests. */
export interface Touches {
  /** Absolute or relative to /workspace, as the caller wrote them; each with what is done to it. */
  readonly paths?: readonly { readonly field: string; readonly path: string; readonly access: 'read' | 'write' }[];
  /** Host names. */
  readonly domains?: readonly { readonly field: string; readonly domain: string }[];
  /** Reaches the network at no host of the caller's choice: a search. */
  readonly network?: true;
  readonly command?: { readonly base: string; readonly first: string | null };
}

/** A built-in tool, as far as it is pure. Its handler is beside it in `tools/`. */
export interface ToolContract<Input extends z.ZodType = z.ZodType> {
  /** `fs.read`. */
  readonly name: string;
  /** Other names it answers to: `fs.create.dir`. Offered and judged under the name above. */
  readonly aliases?: readonly string[];
  /** For the model and for people: what it does, in a sentence or two. */
  readonly description: string;
  readonly input: Input;
  /** Of the structured result, for tools that have one: published as its output schema, and what tests hold it to. */
  readonly result?: z.ZodType;
  /** The compiled default of `skip_judge` (W32). */
  readonly skipJudge: boolean;
  readonly mode: 'repeatable' | 'once';
  /** Changes nothing. */
  readonly reads: boolean;
  readonly runs: 'node' | 'agent';
  /** Pure. Absent: touches nothing that is constrained. */
  touches?(input: z.output<Input>): Touches;
}

/** Result of a command (W44). */
interface CommandStreams {
  readonly stdout: string;
  readonly stderr: string;
}

/** What a caller is told of a command that is no result: the same wherever it ran. */
export interface CommandFailure {
  readonly code: 'CommandNotFound' | 'ExecTimeoutCeilingExceeded' | 'OutputSizeLimitExceeded';
  readonly message: string;
}

const TAIL_CHARS = 500;

/** So much of an output tells whether more came before what is shown. */
export const COMMAND_TAIL_CHARS = TAIL_CHARS + 1;

const tail = (text: string): string => (text.length > TAIL_CHARS ? `…${text.slice(-TAIL_CHARS)}` : text);

/** The end of what it wrote before it was ended. */
export const outputUntilThen = ({ stdout, stderr }: CommandStreams): string =>
  `Its output until then: ${JSON.stringify({ stdout: tail(stdout), stderr: tail(stderr) })}`;

export const commandNotFound = (command: string): CommandFailure => ({
  code: 'CommandNotFound',
  message: `${command} is not there: use another command`,
});

export const commandTooLong = (timeoutSecs: number, streams: CommandStreams): CommandFailure => ({
  code: 'ExecTimeoutCeilingExceeded',
  message: `the command ran longer than ${timeoutSecs} s and was ended. ${outputUntilThen(streams)}`,
});

export const commandTooMuch = (maxBytes: number, streams: CommandStreams): CommandFailure => ({
  code: 'OutputSizeLimitExceeded',
  message: `the command wrote more than ${maxBytes} bytes: let it write to a file. ${outputUntilThen(streams)}`,
});

/** What a manifest's `spec.security` says to programs and commands of the host. */
export const ProgramRules = z.object({
  /** `open`: all of it; `none`: the manifest says so; `closed`: it is not all allowed, as by default. */
  network: z.enum(['open', 'closed', 'none']),
  read_only: z.boolean(),
});

export type ProgramRules = z.output<typeof ProgramRules>;

/** Nothing enforces lists of domains or of paths for a program: what is not all allowed is closed. */
export function programRules({ network, filesystem }: Pick<ToolScope, 'network' | 'filesystem'>): ProgramRules {
  const all = network?.mode === 'allow' && network.allowlist.length === 0 && network.denylist.length === 0;
  const closed = network?.mode === 'none' ? 'none' : 'closed';
  return { network: all ? 'open' : closed, read_only: filesystem?.read_only === true };
}

const HEAD_BYTES = STORED_ABOVE_BYTES / 2;

type TextPart = { type: 'text'; text: string };

export const textContent = (text: string): TextPart[] => [{ type: 'text', text }];

/** Content of a result that is kept whole in Blobs: its beginning, cut between characters, and a word about the rest. */
export function storedContent(text: string): TextPart[] {
  const bytes = Buffer.from(text);
  const head = new TextDecoder().decode(bytes.subarray(0, HEAD_BYTES), { stream: true });
  const shown = Math.min(bytes.length, HEAD_BYTES);
  const note = `[the first ${shown} bytes of a larger result; it is kept whole with the execution]`;
  return [...textContent(head), ...textContent(note)];
}
