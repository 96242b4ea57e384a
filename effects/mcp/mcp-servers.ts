import { join } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import { SvcError, toSvcError } from '../../runtime/errors.ts';
import { backoffMs, jittered, sleep } from '../../runtime/kit/waits.ts';
import type { Random } from '../../runtime/random.ts';
import type { Secrets } from '../../security/api.ts';
import type { McpServers, McpTool } from '../../usecases/ports/mcp-servers.ts';
import { GroupWatch } from '../programs/group-watch.ts';
import type { LateView } from '../programs/view.ts';
import { Connection } from './connection.ts';
import { lookUpCredentials } from './credentials.ts';
import { MCP_LIMITS, type McpLimits, type McpLog, type McpServerSettings } from './limits.ts';
import { ServerLog } from './server-log.ts';
import { toolsOf } from './tool-list.ts';

interface McpServersOptions extends Omit<McpServerParts, 'settings' | 'watch' | 'limits'> {
  /** `spec.mcp_servers`. */
  readonly settings: readonly McpServerSettings[];
  readonly limits?: Partial<McpLimits>;
}

/**
 * The MCP servers of the node configuration. They start in the background. Call `endLeftovers` on the same `workspaces`
 * first. Without servers nothing is loaded.
 */
export function createMcpServers({ settings, limits, ...parts }: McpServersOptions): McpServers {
  const watch = new GroupWatch();
  const all = { ...MCP_LIMITS, ...limits };
  const servers = new Map(
    settings
      .filter(({ enabled }) => enabled)
      .map((one) => [one.name, new McpServer({ ...parts, settings: one, watch, limits: all })]),
  );
  return {
    async tools() {
      return (await Promise.all([...servers.values()].map((server) => server.tools()))).flat();
    },
    async call(request, options) {
      options.signal.throwIfAborted();
      const server = servers.get(request.server);
      if (server === undefined) throw new SvcError('not_found', `no MCP server ${request.server} is configured here`);
      return await server.call(request, options);
    },
    status: () =>
      settings.map(({ name }) => servers.get(name)?.status ?? { name, status: 'disabled', restarts: 0, error: null }),
    async close() {
      await Promise.all([...servers.values()].map((server) => server.close()));
    },
  };
}

interface McpServerParts {
  readonly settings: McpServerSettings;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: McpLog;
  readonly dataDir: string;
  readonly workspaces: string;
  readonly watch: GroupWatch;
  /** Sandbox or view of programs; absent or null: none. */
  readonly view?: LateView;
  readonly limits: McpLimits;
  readonly version: string;
}

type Status = 'starting' | 'ready' | 'unhealthy' | 'restarting';

type Call = Parameters<McpServers['call']>;

/** A configured server: starts it, checks its health, restarts it with backoff. */
class McpServer {
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
  /** The refused tools of the last log line. */
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

  /** Waits for the first start and for a list that is being read, within `firstToolsMs`. */
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
      throw new SvcError(
        'unavailable',
        `the MCP server ${server} is ${this.#status}: ${this.#error ?? 'it has not started yet'}`,
      );
    }
    if (!this.#tools.some((known) => known.tool === tool)) {
      throw new SvcError('not_found', `the MCP server ${server} has no tool ${tool}`);
    }
    if (this.#calls >= this.#parts.limits.calls) {
      throw new SvcError('unavailable', `the MCP server ${server} has ${this.#calls} calls under way, the maximum`);
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
      const why = await this.#runOnce();
      this.#first.resolve();
      if (this.#closing.signal.aborted) return;
      if (clock.monotonic() - startedAt > limits.steadyMs) attempts = 0;
      const delayMs = jittered(backoffMs(attempts, limits.backoffMs, limits.longestBackoffMs), random);
      attempts += 1;
      this.#status = 'restarting';
      this.#error = why;
      log.warn({ server: settings.name, reason: why, again_in_ms: Math.round(delayMs) }, 'MCP server is down');
      await sleep(clock, delayMs, this.#closing.signal);
      this.#restarts += 1;
    }
  }

  /** Runs the server from its start to its end and returns the reason. Never throws. */
  async #runOnce(): Promise<string> {
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

  /** Reads the list again, and once more after a pause if it changes meanwhile. */
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
    const text = refused.join('\n');
    if (text === this.#refused) return;
    this.#refused = text;
    if (refused.length === 0) return;
    const shown = { server: settings.name, tools: refused.slice(0, 20), more: Math.max(0, refused.length - 20) };
    log.warn(shown, 'MCP server: tools that cannot be offered');
  }

  /** Returns the reason for a restart after two failed checks in a row. */
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
      // A server may answer no checks while it works on a call, for as long as a call may take.
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
