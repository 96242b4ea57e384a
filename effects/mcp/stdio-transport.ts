import { mkdir, realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { SvcError } from '../../runtime/errors.ts';
import { SEARCH_PATH } from '../programs/environment.ts';
import type { GroupExcess, GroupWatch } from '../programs/group-watch.ts';
import { ProgramLimits } from '../programs/input.ts';
import { type LaunchedProgram, launch } from '../programs/launch.ts';
import { endRun, recordRun } from '../programs/leftovers.ts';
import { RUN_MARK, signal } from '../programs/process-table.ts';
import type { SharedPath } from '../programs/sandbox.ts';
import { type LateView, type ProgramView, type ViewedProgram, WORKSPACE } from '../programs/view.ts';
import type { ServerCredentials } from './credentials.ts';
import type { McpLimits, McpServerSettings } from './limits.ts';
import type { McpSdk } from './sdk.ts';
import type { ServerLog } from './server-log.ts';

/** How long to read output after the end of the process group: a process that left the group may hold the pipe open. */
const DRAIN_MS = 1_000;
const MiB = 1_024 * 1_024;
const RESERVED_BYTES = 1_024 * MiB;
const NOT_FOUND = 127;
const TAIL_CHARS = 600;
/** Processes of one server, including those it starts. */
const PROCESSES = 256;

/** Reason of an end that the node requested. */
export const STOPPED = 'it was stopped';

export interface StdioParts {
  readonly sdk: Pick<McpSdk, 'ReadBuffer' | 'serializeMessage'>;
  readonly settings: McpServerSettings & { readonly executable: string };
  readonly credentials: ServerCredentials;
  /** Working directory of the server, created if missing. */
  readonly directory: string;
  /** Directory for records of runs: the node ends leftovers after a restart. */
  readonly workspaces: string;
  readonly run: string;
  readonly watch: GroupWatch;
  /** Sandbox or view of programs; absent or null: none. */
  readonly view?: LateView;
  readonly limits: McpLimits;
  readonly output: ServerLog;
}

/**
 * Runs a server in its own process group, recorded and guarded like programs, and talks over its standard input and output.
 * The SDK's own stdio transport has no process group and adds variables to the environment.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Readable reason of its end. */
  reason = '';
  readonly #parts: StdioParts;
  readonly #ended = Promise.withResolvers<void>();
  #program: LaunchedProgram | null = null;
  /** From then on its id may belong to another process. */
  #exited = false;
  #stopping: Promise<void> | null = null;

  constructor(parts: StdioParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const { settings, directory, workspaces, run, watch, limits, output, sdk, view = null } = this.#parts;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await recordRun(workspaces, run);
    let program: LaunchedProgram;
    try {
      const started = await serverProgram(settings, directory, await view);
      program = await launch({
        ...started,
        directory,
        environment: this.#environment(started),
        limits: programLimits(settings),
        stdin: 'pipe',
      });
    } catch (error) {
      await endRun(workspaces, run);
      this.#ended.resolve();
      throw error;
    }
    this.#program = program;
    const groupLimits = { memoryBytes: settings.resource_limits.memory_mb * MiB, processes: PROCESSES };
    const unwatch = watch.watch(program.group, groupLimits, (what) => this.kill(excessText(what, groupLimits)));
    const buffer = new sdk.ReadBuffer({ maxBufferSize: limits.messageBytes });
    program.stdout.on('data', (chunk: Buffer) => this.#read(buffer, chunk));
    program.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    program.child.stdin?.on('error', (error) => this.onerror?.(error));
    program.child.once('exit', (code, name) => {
      this.#exited = true;
      unwatch();
      // If the cleanup fails, the record of the run stays and the next start of the node cleans up.
      this.#ending(program, code, name).then(this.#ended.resolve, (error: unknown) => {
        this.onerror?.(error instanceof Error ? error : new Error('the processes of the server could not be ended'));
        this.#ended.resolve();
      });
    });
    await recordRun(workspaces, run, program.group);
  }

  #environment({ environment }: ServerProgram): Record<string, string> {
    const { credentials, run } = this.#parts;
    return { ...environment, ...credentials.environment, [RUN_MARK]: run };
  }

  #read(buffer: InstanceType<McpSdk['ReadBuffer']>, chunk: Buffer): void {
    if (this.reason !== '') return;
    try {
      buffer.append(chunk);
    } catch {
      this.kill(`it sent a message of more than ${this.#parts.limits.messageBytes} bytes`);
      return;
    }
    for (;;) {
      try {
        const message = buffer.readMessage();
        if (message === null) return;
        this.onmessage?.(message);
      } catch (error) {
        // Skips a line that is not a message, such as a greeting.
        this.onerror?.(error instanceof Error ? error : new Error('no message'));
      }
    }
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#program?.child.stdin;
    if (stdin === null || stdin === undefined || this.reason !== '') {
      return Promise.reject(new SvcError('unavailable', 'the server has ended'));
    }
    if (stdin.writableLength > this.#parts.limits.unreadBytes) {
      return Promise.reject(new SvcError('unavailable', 'the server does not read what it is sent'));
    }
    const text = this.#parts.sdk.serializeMessage(message);
    return new Promise((done, fail) => stdin.write(text, (error) => (error ? fail(error) : done())));
  }

  /** Kills it and everything it started. */
  kill(reason: string): void {
    if (this.reason === '') this.reason = reason;
    this.#signal('SIGKILL');
  }

  #signal(name: NodeJS.Signals): void {
    if (this.#program !== null && !this.#exited) signal(-this.#program.group, name);
  }

  /** False if it has closed its input: it is ending. */
  get isReadable(): boolean {
    return this.#program?.child.stdin?.destroyed === false;
  }

  /** Closes its input, then sends TERM, then KILL. Resolves when all its processes have ended. */
  close(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const program = this.#program;
    if (program === null) return;
    const { stopGraceMs } = this.#parts.limits;
    if (this.reason === '') this.reason = STOPPED;
    program.child.stdin?.end();
    if (!(await this.endsWithin(stopGraceMs))) {
      // In a sandbox the program leads its own group below the started one.
      if (!this.#exited) signal(-program.terminationGroup(), 'SIGTERM');
      if (!(await this.endsWithin(stopGraceMs))) this.#signal('SIGKILL');
    }
    await this.#ended.promise;
  }

  /** Whether all its processes end within `ms`. */
  async endsWithin(ms: number): Promise<boolean> {
    const waited = new AbortController();
    const late = pause(ms, false, { signal: waited.signal }).catch(() => true);
    const ended = await Promise.race([this.#ended.promise.then(() => true), late]);
    waited.abort();
    return ended;
  }

  async #ending(program: LaunchedProgram, code: number | null, name: NodeJS.Signals | null): Promise<void> {
    const { workspaces, run, output, settings } = this.#parts;
    const closed = new Promise<void>((done) => program.child.once('close', () => done()));
    // Makes the guard kill the rest of the group, which may hold the output open.
    program.release();
    const waited = new AbortController();
    await Promise.race([closed, pause(DRAIN_MS, undefined, { signal: waited.signal }).catch(() => {})]);
    waited.abort();
    program.stdout.destroy();
    program.stderr.destroy();
    output.end();
    if (this.reason === '') this.reason = endText(settings.executable, code, name, output.tail);
    this.onclose?.();
    await endRun(workspaces, run);
  }
}

function endText(executable: string, code: number | null, name: NodeJS.Signals | null, tail: string): string {
  const said = tail === '' ? '' : `: ${tail.slice(-TAIL_CHARS)}`;
  if (code === NOT_FOUND) return `the program ${executable} could not be run${said}`;
  return name === null ? `it ended with exit code ${code}${said}` : `it was ended by ${name}${said}`;
}

const excessText = (what: GroupExcess, { memoryBytes }: { readonly memoryBytes: number }): string =>
  what === 'memory'
    ? `it used more than ${memoryBytes / MiB} MiB of memory`
    : `it had more than ${PROCESSES} processes`;

/**
 * No limit of processor time, since a server runs as long as the node. The watch limits the memory of the group; the limit
 * of each process only stops allocations faster than the watch, and leaves room for address space that runtimes reserve:
 * Node with WebAssembly reserves 600 MiB.
 */
const programLimits = ({ resource_limits }: McpServerSettings): ProgramLimits =>
  ProgramLimits.parse({ timeout_ms: 1, memory_bytes: resource_limits.memory_mb * MiB + RESERVED_BYTES });

interface ServerProgram extends ViewedProgram {
  /** Base environment, before that of its settings. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Variables that a server outside the sandbox inherits from the node. */
const INHERITED = ['PATH', 'HOME', 'LANG'];

/**
 * How a server is started. In the sandbox it sees its directory as its workspace, its program and its `paths`, and has no
 * network unless its settings allow it. Throws `failed_precondition` for a path that no program may see.
 */
async function serverProgram(
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
  return {
    ...view.through({ program, args }, [bind], WORKSPACE, { network, paths, file: file ?? undefined }),
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
