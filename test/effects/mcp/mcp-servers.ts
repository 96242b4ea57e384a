import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { z } from 'zod';
import type { McpLimits } from '../../../effects/mcp/limits.ts';
import { createMcpServers } from '../../../effects/mcp/mcp-servers.ts';
import type { ProgramView } from '../../../effects/programs/view.ts';
import { McpServers as Settings } from '../../../manifests/node/tools.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import { systemRandom } from '../../../runtime/random.ts';
import type { McpServers } from '../../../usecases/ports/mcp-servers.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Values behind references; none may be shown anywhere. */
export const KEY = 'hunter2-very-secret';
export const BEARER = 'bearer-of-good-news';

const secrets = {
  async resolve(_tenant: string, reference: string): Promise<string> {
    const found = { 'secret:KEY': KEY, 'secret:BEARER': BEARER }[reference];
    if (found === undefined) throw new SvcError('failed_precondition', `${reference} is not set`);
    return found;
  },
};

/** A server of the folder `servers` with a fresh name, with settings besides the program. */
export const ours = (file: string, more: object = {}): object => ({
  ...{ name: file, executable: process.execPath },
  args: [fileURLToPath(new URL(`servers/${file}.ts`, import.meta.url))],
  ...more,
});

const everythingFile = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'));
/** The official server, over stdio. */
export const everything = (more: object = {}): object => ({
  ...{ name: 'everything', executable: process.execPath, args: [everythingFile, 'stdio'] },
  ...more,
});
export { everythingFile };

export interface McpUnderTest extends AsyncDisposable {
  readonly servers: McpServers;
  readonly workspaces: string;
  /** Every log line, as text. */
  readonly logged: readonly string[];
  call(
    name: string,
    given?: JsonObject,
    more?: { readonly timeoutMs?: number; readonly signal?: AbortSignal; readonly onProgress?: (text: string) => void },
  ): ReturnType<McpServers['call']>;
  /** Text of the first part of a result. */
  text(name: string, given?: JsonObject): Promise<string>;
  /** Waits for a status of the server. */
  until(name: string, status: string): Promise<void>;
}

/** MCP servers in a private directory, with short waits. */
export async function mcpUnderTest(
  settings: readonly object[],
  limits: Partial<McpLimits> = {},
  view: ProgramView | null = null,
): Promise<McpUnderTest> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-mcp-'));
  const logged: string[] = [];
  const line = (fields: object, message: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const workspaces = join(directory, 'workspaces');
  const servers = createMcpServers({
    settings: Settings.parse(settings) satisfies z.output<typeof Settings>,
    secrets,
    clock: systemClock,
    random: systemRandom,
    log: { debug: line, warn: line },
    dataDir: directory,
    workspaces,
    view,
    version: '0.0.1-test',
    limits: { backoffMs: 20, longestBackoffMs: 200, stopGraceMs: 200, firstToolsMs: 60_000, ...limits },
  });
  const call: McpUnderTest['call'] = (name, given = {}, { timeoutMs = 60_000, signal, onProgress } = {}) => {
    const [server = '', tool = ''] = name.split('.');
    const options = { signal: signal ?? new AbortController().signal, ...(onProgress ? { onProgress } : {}) };
    return servers.call({ server, tool, arguments: given, timeoutMs }, options);
  };
  return {
    ...{ servers, workspaces, logged, call },
    async text(name, given) {
      const { content } = await call(name, given);
      return String(content[0]?.text);
    },
    async until(name, status) {
      await waitUntil(
        `${name} is ${status}`,
        () => servers.status().find((one) => one.name === name)?.status === status,
      );
    },
    async [Symbol.asyncDispose]() {
      await servers.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Whether a process exists and is no zombie. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export const code = (expected: string) => (error: unknown) => error instanceof SvcError && error.code === expected;
