import { join } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { sleep } from '../../runtime/kit/waits.ts';
import type { Random } from '../../runtime/random.ts';
import type { Secrets } from '../../security/api.ts';
import type { McpServers, McpTool } from '../../usecases/ports/mcp-servers.ts';
import type { GroupWatch } from '../programs/group-watch.ts';
import type { ProgramView } from '../programs/view.ts';
import { Connection, lookUpCredentials } from './connection.ts';
import type { McpLimits, McpLog, McpServerSettings } from './limits.ts';
import { ServerLog } from './server-log.ts';
import { toolsOf } from './tool-list.ts';

export interface McpServerParts {
  readonly settings: McpServerSettings;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: McpLog;
  readonly dataDir: string;
  readonly workspaces: string;
  readonly watch: GroupWatch;
  /** How this host starts programs; absent or null: as they are. */
  readonly view?: ProgramView | null;
  readonly limits: McpLimits;
  readonly version: string;
}

type Status = 'starting' | 'ready' | 'unhealthy' | 'restarting';

type Call = Parameters<McpServers['call']>;

/** A configured server through all its lives: started, watched, started again after longer and longer waits. */
export class McpServer {
  readonly #parts: McpServerParts;
  readonly #closing = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  readonly #running: Promise<void>;
  #status: Status = 'starting';
  #connection: Connection | null = null;
  #tools: readonly McpTool[] = [];
  #restarts = 0;
  #error: string | null = null;
  #calls = 0;
  #stale = false;
  /** What was last said of tools that cannot be offered. */
  #refused = '';
  #refreshing: Promise<void> | null = null;

  constructor(parts: McpServerParts) {
    this.#parts = parts;
    this.#running = this.#run();
  }

  get status(): ReturnType<McpServers['status']>[number] {
    const { name } = this.#parts.settings;
    return { name, status: this.#status, restarts: this.#restarts, error: this.#error };
  }

  /** Waits a while for a first start and for a list that is being read again. */
  async tools(): Promise<readonly McpTool[]> {
    const { clock, limits } = this.#parts;
    await Promise.race([this.#first.promise, sleep(clock, limits.firstToolsMs, this.#closing.signal)]);
    if (this.#refreshing !== null) {
      await Promise.race([this.#refreshing, sleep(clock, limits.firstToolsMs, this.#closing.signal)]);
    }
    return this.#status === 'ready' ? this.#tools : [];
  }

  async call({ server, tool, arguments: given, timeoutMs }: Call[0], options: Call[1]): ReturnType<McpServers['call']> {
    const connection = this.#connection;
    if (connection === null) {
      throw new SvcError('unavailable', `the MCP server ${server} is ${this.#status}: ${this.#error ?? 'not up yet'}`);
    }
    if (!this.#tools.some((known) => known.tool === tool)) {
      throw new SvcError('not_found', `the MCP server ${server} has no tool ${tool}`);
    }
    if (this.#calls >= this.#parts.limits.calls) {
      throw new SvcError('unavailable', `the MCP server ${server} has ${this.#calls} calls to answer`);
    }
    this.#calls += 1;
    try {
      return await connection.call(
        { tool, arguments: given, timeoutMs: Math.min(timeoutMs, this.#toolTimeoutMs) },
        options,
      );
    } finally {
      this.#calls -= 1;
    }
  }

  get #toolTimeoutMs(): number {
    return this.#parts.settings.tool_timeout_seconds * 1_000;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#connection?.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, limits, settings, log, random } = this.#parts;
    let attempts = 0;
    while (!this.#closing.signal.aborted) {
      const startedAt = clock.monotonic();
      const why = await this.#live();
      this.#first.resolve();
      if (this.#closing.signal.aborted) return;
      if (clock.monotonic() - startedAt > limits.steadyMs) attempts = 0;
      const mostMs = Math.min(limits.backoffMs * 2 ** attempts, limits.longestBackoffMs);
      const pauseMs = mostMs * (0.5 + random.fraction() / 2);
      attempts = Math.min(attempts + 1, 30);
      this.#status = 'restarting';
      this.#error = why;
      log.warn({ server: settings.name, reason: why, again_in_ms: Math.round(pauseMs) }, 'MCP server is down');
      await sleep(clock, pauseMs, this.#closing.signal);
      this.#restarts += 1;
    }
  }

  /** From its start to its end; answers why it ended. Never throws. */
  async #live(): Promise<string> {
    const ended = new AbortController();
    let connection: Connection | null = null;
    try {
      connection = await this.#open();
      await this.#readTools(connection);
      if (this.#closing.signal.aborted) return 'it was stopped';
      this.#connection = connection;
      this.#status = 'ready';
      this.#error = null;
      this.#first.resolve();
      if (this.#stale) this.#refresh();
      return await Promise.race([connection.lost, this.#watchHealth(connection, ended.signal)]);
    } catch (error) {
      return toSvcError(error).message;
    } finally {
      ended.abort();
      this.#connection = null;
      this.#tools = [];
      this.#status = 'restarting';
      await connection?.close();
    }
  }

  async #open(): Promise<Connection> {
    const { settings, secrets, clock, log, limits, random, dataDir } = this.#parts;
    const credentials = await lookUpCredentials(settings, secrets);
    const now = (): number => clock.monotonic();
    const run = `mcp-${random.uuid()}`;
    const output = new ServerLog({ server: settings.name, clean: credentials.clean, limits, log, now });
    const onToolsChanged = (): void => this.#refresh();
    const { signal } = this.#closing;
    const directory = join(dataDir, 'mcp', settings.name);
    return await Connection.open({ ...this.#parts, credentials, run, output, now, directory, onToolsChanged, signal });
  }

  /** Reads the list again; told of more changes meanwhile, once more after a pause. */
  #refresh(): void {
    this.#stale = true;
    this.#refreshing ??= this.#readWhileStale().finally(() => {
      this.#refreshing = null;
    });
  }

  async #readWhileStale(): Promise<void> {
    const { clock, limits, log, settings } = this.#parts;
    while (this.#stale && this.#connection !== null) {
      this.#stale = false;
      await this.#readTools(this.#connection).catch((error: unknown) =>
        log.warn({ server: settings.name, reason: toSvcError(error).message }, 'MCP server: its tools cannot be read'),
      );
      if (this.#stale) await sleep(clock, limits.refreshMs, this.#closing.signal);
    }
  }

  async #readTools(connection: Connection): Promise<void> {
    const { settings, limits, log } = this.#parts;
    const listed = await connection.list(settings.health_check.timeout_seconds * 1_000);
    const refused: string[] = [];
    this.#tools = toolsOf(listed, settings, limits, (tool, why) => refused.push(`${tool}: ${why}`));
    const told = refused.join('\n');
    if (told === this.#refused) return;
    this.#refused = told;
    if (refused.length === 0) return;
    const shown = { server: settings.name, tools: refused.slice(0, 20), more: Math.max(0, refused.length - 20) };
    log.warn(shown, 'MCP server: tools that cannot be offered');
  }

  /** Answers why it must be started again: two checks failed, one after the other. */
  async #watchHealth(connection: Connection, ended: AbortSignal): Promise<string> {
    const { clock, settings } = this.#parts;
    const { interval_seconds, timeout_seconds } = settings.health_check;
    let failingSince: number | null = null;
    for (;;) {
      const soonS = failingSince === null ? interval_seconds : Math.min(interval_seconds, timeout_seconds);
      await sleep(clock, soonS * 1_000, ended);
      if (ended.aborted) return '';
      const failure = await this.#check(connection);
      if (failure === null) {
        failingSince = null;
        this.#status = 'ready';
        this.#error = null;
        continue;
      }
      if (ended.aborted) return '';
      // A server may answer nothing else while it works, for as long as a call may take.
      const isPatient =
        this.#calls > 0 && clock.monotonic() - (failingSince ?? clock.monotonic()) < this.#toolTimeoutMs;
      if (failingSince !== null && !isPatient) return `it is not healthy: ${failure}`;
      failingSince ??= clock.monotonic();
      this.#status = 'unhealthy';
      this.#error = failure;
    }
  }

  async #check(connection: Connection): Promise<string | null> {
    const { method, timeout_seconds } = this.#parts.settings.health_check;
    try {
      if (method === 'ping') await connection.ping(timeout_seconds * 1_000);
      else await this.#readTools(connection);
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : 'the check failed';
    }
  }
}
