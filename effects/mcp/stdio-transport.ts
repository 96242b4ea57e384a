import { mkdir } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { SvcError } from '../../runtime/errors.ts';
import type { GroupExcess, GroupWatch } from '../programs/group-watch.ts';
import { ProgramLimits } from '../programs/input.ts';
import { type LaunchedProgram, launch } from '../programs/launch.ts';
import { endRun, recordRun } from '../programs/leftovers.ts';
import { RUN_MARK, signal } from '../programs/process-table.ts';
import type { ProgramView } from '../programs/view.ts';
import type { McpLimits, McpServerSettings, ServerCredentials } from './limits.ts';
import { type ServerLog, type ServerProgram, serverProgram } from './server-log.ts';
import type { McpSdk } from './tool-list.ts';

/** How long output may stay open once the group is gone: a process that left it may hold the pipe. */
const DRAIN_MS = 1_000;
const MiB = 1_024 * 1_024;
const RESERVED_BYTES = 1_024 * MiB;
const NOT_FOUND = 127;
const TAIL_CHARS = 600;
/** Of one server, all it starts included. */
const PROCESSES = 256;

/** Reason of an end that nobody but the node asked for. */
export const STOPPED = 'it was stopped';

export interface StdioParts {
  readonly sdk: Pick<McpSdk, 'ReadBuffer' | 'serializeMessage'>;
  readonly settings: McpServerSettings & { readonly executable: string };
  readonly credentials: ServerCredentials;
  /** The server's own, made when it is not there. */
  readonly directory: string;
  /** Where runs are noted, so that a later life of the node ends what this one leaves. */
  readonly workspaces: string;
  readonly run: string;
  readonly watch: GroupWatch;
  /** How this host starts programs; absent or null: as they are. */
  readonly view?: ProgramView | null;
  readonly limits: McpLimits;
  readonly output: ServerLog;
}

/**
 * A server as a process of its own group, noted and guarded as programs are, that speaks over its standard input and
 * output. The SDK's own stdio transport cannot be used: it gives no process group, and adds to the environment.
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Why it ended, for people. */
  reason = '';
  readonly #parts: StdioParts;
  readonly #ended = Promise.withResolvers<void>();
  #program: LaunchedProgram | null = null;
  /** Its id may be that of another process from then on. */
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
      const started = await serverProgram(settings, directory, view);
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
      // What could not be cleared away is said; the record of the run stays, and the node's next start clears it.
      this.#ending(program, code, name).then(this.#ended.resolve, (error: unknown) => {
        this.onerror?.(error instanceof Error ? error : new Error('the server could not be cleared away'));
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
        // A line that is no message, such as a greeting: that line is lost, not the connection.
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

  /** Ends it at once, and everything it started. */
  kill(reason: string): void {
    if (this.reason === '') this.reason = reason;
    this.#signal('SIGKILL');
  }

  #signal(name: NodeJS.Signals): void {
    if (this.#program !== null && !this.#exited) signal(-this.#program.group, name);
  }

  /** False: it has closed its input, so it is going, or cannot be spoken to. */
  get isReadable(): boolean {
    return this.#program?.child.stdin?.destroyed === false;
  }

  /** Asks it to end by closing its input, then TERM, then KILL; resolves when nothing of it is left. */
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
      // In a sandbox the program leads a group of its own, below the one that is started.
      if (!this.#exited) signal(-program.asked(), 'SIGTERM');
      if (!(await this.endsWithin(stopGraceMs))) this.#signal('SIGKILL');
    }
    await this.#ended.promise;
  }

  /** Whether nothing of it is left, at the latest after `ms`. */
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
    // The guard ends the rest of the group, which may hold the output open.
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
 * It runs for as long as the node does, so there is no processor time to run out of. The memory of its group is watched;
 * the limit of each process only stops what allocates faster than the watch looks, and leaves room for what runtimes
 * reserve: Node with WebAssembly has 600 MiB before it does anything.
 */
const programLimits = ({ resource_limits }: McpServerSettings): ProgramLimits =>
  ProgramLimits.parse({ timeout_ms: 1, memory_bytes: resource_limits.memory_mb * MiB + RESERVED_BYTES });
