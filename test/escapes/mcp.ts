import assert from 'node:assert/strict';
import { waitUntil } from '../support/wait-until.ts';
import type { Escape } from './escape.ts';
import { assertHarmless, type EscapeTargets, MCP_KEY } from './escape-targets.ts';

/** The server is there again after what was done to it. */
const ready = (at: EscapeTargets): Promise<unknown> =>
  waitUntil(
    'the server answers',
    async () => {
      const said = await at.call('wild.echo', { text: 'here' });
      return said.isError ? null : said;
    },
    30_000,
  );

const bad = (title: string, tool: string, check: 'fails' | 'answers'): Escape => ({
  ...{ title: `a server that ${title}`, kind: 'mcp' },
  async attempt(at) {
    await ready(at);
    const said = await at.call(`wild.${tool}`, {});
    assertHarmless(said, MCP_KEY);
    assert.equal(said.isError, check === 'fails', said.said.slice(0, 300));
    assert.ok(said.text.length < 1_000_000);
    assert.equal((await at.node.call('GET', '/health')).status, 200);
  },
});

export const MCP: readonly Escape[] = [
  bad('writes without end', 'flood', 'fails'),
  bad('sends messages without end', 'spam', 'fails'),
  bad('sends what is no message', 'garbage', 'answers'),
  bad('falls over', 'crash', 'fails'),
  bad('never answers', 'hang', 'fails'),
  bad('takes memory without end', 'memory', 'fails'),
  bad('tells its secret and its environment', 'secret', 'answers'),
  bad('tells its secret in an error', 'error', 'fails'),
  bad('only says how far it is', 'progress', 'fails'),
  {
    ...{ title: 'a tool of a server that is not granted', kind: 'mcp' },
    async attempt(at) {
      assert.ok((await at.call('other.echo', {})).isError);
      assert.ok((await at.call('wild.', {})).isError);
      assert.ok((await at.call('wild.no-such', {})).isError);
    },
  },
];
