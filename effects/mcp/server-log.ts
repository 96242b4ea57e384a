import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { StringDecoder } from 'node:string_decoder';
import { SvcError } from '../../runtime/errors.ts';
import { SEARCH_PATH } from '../programs/environment.ts';
import type { SharedPath } from '../programs/sandbox.ts';
import { type ProgramView, type ViewedProgram, WORKSPACE } from '../programs/view.ts';
import type { McpLimits, McpLog, McpServerSettings } from './limits.ts';

const SECOND_MS = 1_000;

const TAIL_LINES = 6;

/** Standard error of a server, line by line at level debug: without secrets, shortened, and only so many a second. */
export class ServerLog {
  readonly #server: string;
  readonly #clean: (text: string) => string;
  readonly #limits: McpLimits;
  readonly #log: McpLog;
  readonly #now: () => number;
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #cutting = false;
  #second = 0;
  #lines = 0;
  /** The last lines, for whoever asks why the server ended. */
  readonly #tail: string[] = [];

  constructor(parts: {
    readonly server: string;
    readonly clean: (text: string) => string;
    readonly limits: McpLimits;
    readonly log: McpLog;
    readonly now: () => number;
  }) {
    this.#server = parts.server;
    this.#clean = parts.clean;
    this.#limits = parts.limits;
    this.#log = parts.log;
    this.#now = parts.now;
  }

  get tail(): string {
    return this.#tail.join(' | ');
  }

  push(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      if (!this.#cutting) this.#write(line);
      this.#cutting = false;
    }
    if (this.#rest.length <= this.#limits.logLineChars) return;
    if (!this.#cutting) this.#write(this.#rest);
    this.#rest = '';
    this.#cutting = true;
  }

  end(): void {
    if (this.#rest !== '' && !this.#cutting) this.#write(this.#rest);
    this.#rest = '';
  }

  #write(line: string): void {
    // Before it is shortened: a secret that is cut in two would not be found.
    const text = this.#clean(line).slice(0, this.#limits.logLineChars).trimEnd();
    if (text === '') return;
    this.#tail.push(text);
    if (this.#tail.length > TAIL_LINES) this.#tail.shift();
    const second = Math.floor(this.#now() / SECOND_MS);
    if (second !== this.#second) {
      this.#second = second;
      this.#lines = 0;
    }
    this.#lines += 1;
    if (this.#lines <= this.#limits.logLines) this.#log.debug({ server: this.#server, line: text }, 'MCP server says');
  }
}

/** Counts the messages of one server in windows of time, so that one that never stops cannot keep the node busy. */
export class FloodGauge {
  readonly #limits: McpLimits;
  readonly #now: () => number;
  #windowStart: number;
  #count = 0;

  constructor(limits: McpLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
    this.#windowStart = now();
  }

  /** True: more came than a server may send. */
  count(): boolean {
    const now = this.#now();
    if (now - this.#windowStart >= this.#limits.messagesEveryMs) {
      this.#windowStart = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count > this.#limits.messages;
  }
}

export interface ServerProgram extends ViewedProgram {
  /** Before what its settings give it. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Variables of the node's own environment that a server outside of the sandbox sees; all else it must be given. */
const INHERITED = ['PATH', 'HOME', 'LANG'];

/**
 * How a server is started. In the sandbox of commands it sees its own directory as its workspace, its program, and what its `paths`
 * name; nothing of the node, and no network unless its settings say so. Throws `failed_precondition` for a path that no program may see.
 */
export async function serverProgram(
  settings: McpServerSettings & { readonly executable: string },
  directory: string,
  view: ProgramView | null,
): Promise<ServerProgram> {
  const { executable, args, sandbox, network } = settings;
  const isFile = executable.includes('/');
  const program = isFile ? resolve(executable) : executable;
  if (sandbox === 'off' || view?.confines !== true) return { program, args, environment: inherited() };
  await view.prepare([directory]);
  const file = isFile ? await shared(view, { path: program, writable: false }) : null;
  const paths = await Promise.all(settings.paths.map((path) => shared(view, path)));
  const bind = { directory, path: WORKSPACE, readOnly: false };
  const how = { network, paths, ...(file === null ? {} : { file }) };
  return {
    ...view.through({ program, args }, [bind], WORKSPACE, how),
    environment: { PATH: SEARCH_PATH, HOME: WORKSPACE, TMPDIR: '/tmp', LANG: 'C.UTF-8' },
  };
}

async function shared(view: ProgramView, { path, writable }: Omit<SharedPath, 'source'>): Promise<SharedPath> {
  const source = await realpath(path).catch(() => null);
  if (source === null) throw new SvcError('failed_precondition', `${path} does not exist on this node`);
  if (view.hides(source))
    throw new SvcError('failed_precondition', `${path} is in a directory of the node that no program may see`);
  return { source, path, writable };
}

function inherited(): Record<string, string> {
  return Object.fromEntries(
    INHERITED.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value] as const];
    }),
  );
}
