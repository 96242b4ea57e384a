import { createMcpServers } from '../../../effects/mcp/mcp-servers.ts';
import { McpServers } from '../../../manifests/node/tools.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { systemRandom } from '../../../runtime/random.ts';
import { ours } from './mcp-servers.ts';

/** A process that runs servers and prints their ids: the part of a node that a test kills. */
const [dataDir = '', workspaces = ''] = process.argv.slice(2);
const log = { debug: () => {}, warn: () => {} };
const secrets = { resolve: async (_tenant: string, text: string) => text };
const servers = createMcpServers({
  settings: McpServers.parse([ours('wild'), ours('stubborn')]),
  ...{ secrets, log, dataDir, workspaces, clock: systemClock, random: systemRandom, version: '0.0.1-test' },
});
await servers.tools();
const { signal } = new AbortController();
const say = async (server: string, tool: string): Promise<string> => {
  const { content } = await servers.call({ server, tool, arguments: {}, timeoutMs: 10_000 }, { signal });
  return String(content[0]?.text);
};
const pids = [await say('wild', 'pid'), await say('stubborn', 'pid'), ...(await say('wild', 'child')).split(' ')];
process.stdout.write(`${JSON.stringify(pids.map(Number))}\n`);
