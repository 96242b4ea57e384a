import assert from 'node:assert/strict';
import type { Escape } from './escape.ts';
import { assertHarmless, assertRefused, type EscapeTargets } from './escape-targets.ts';

const payload = (params: string, more = ''): string =>
  `{"id":1,"jsonrpc":"2.0","method":"tools/call","params":${params}${more}}`;
const withArguments = (text: string, tool = 'fs.read'): string =>
  payload(`{"arguments":${text},"name":${JSON.stringify(tool)}}`);

/** Whatever it is, the node says no and goes on. */
const raw = (title: string, text: () => string): Escape => ({
  ...{ title: `a call with ${title}`, kind: 'arguments' },
  async attempt(at) {
    const said = await at.raw(text());
    assertHarmless(said);
    assert.ok(said.isError, said.said.slice(0, 200));
    assert.ok(said.text.length < 100_000, `${said.text.length} characters of refusal`);
  },
});

const value = (title: string, given: unknown): Escape => ({
  ...{ title: `a path that is ${title}`, kind: 'arguments' },
  attempt: async (at) => assertRefused(await at.call('fs.read', { path: given }), /^InvalidArguments$/),
});

const tool = (title: string, name: unknown): Escape => ({
  ...{ title: `a tool called ${title}`, kind: 'arguments' },
  async attempt(at) {
    const said = await at.call(name, { path: 'x' });
    assertHarmless(said);
    assert.ok(said.isError, said.said);
  },
});

async function unpolluted(at: EscapeTargets): Promise<void> {
  const said = await at.call('fs.list', {});
  assert.equal(said.isError, false, said.said);
}

export const ARGUMENTS: readonly Escape[] = [
  raw('arrays in arrays, 100,000 deep', () => withArguments(`{"path":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)),
  raw('objects in objects, 50,000 deep', () => withArguments(`${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`)),
  raw('brackets that never close', () => withArguments('['.repeat(500_000))),
  {
    ...{ title: 'a call with arguments of 17 MiB', kind: 'arguments' },
    async attempt(at) {
      const text = withArguments(JSON.stringify({ path: 'x', content: 'x'.repeat(17 * 1_024 * 1_024) }), 'fs.write');
      // Cut off in the middle, or told that it is too large.
      const said = await at.raw(text).catch((error: unknown) => error);
      assert.ok(
        said instanceof Error || (typeof said === 'object' && said !== null && 'isError' in said && said.isError),
      );
    },
  },
  raw('50,000 names', () =>
    withArguments(JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, 0])))),
  ),
  raw('the same name twice, good then bad', () => withArguments('{"path":"ok.txt","path":"../../etc/passwd"}')),
  raw('the same name twice, bad then good', () => withArguments('{"path":"../../etc/passwd","path":"ok.txt"}')),
  raw('a prototype', () => withArguments('{"__proto__":{"path":"x"},"path":"none"}')),
  raw('a constructor', () => withArguments('{"constructor":{"prototype":{"isError":false}},"path":"none"}')),
  raw('a number without end', () => withArguments('{"path":1e999}')),
  raw('NaN', () => withArguments('{"path":NaN}')),
  raw('a comment', () => withArguments('{"path":/*x*/"x"}')),
  raw('something behind its end', () => `${withArguments('{"path":"x"}')}{}`),
  raw('a byte order mark', () => `\ufeff${withArguments('{"path":"x"}')}`),
  raw('a batch', () => `[${withArguments('{"path":"x"}')}]`),
  raw('nothing', () => ''),
  raw('a text', () => '"fs.read"'),
  raw('null', () => 'null'),
  raw('a tool of 1 MiB', () => withArguments('{}', 'x'.repeat(1_024 * 1_024))),
  raw('the members of another caller', () => withArguments('{"path":"x","tenant":"other","execution_id":"e"}')),
  value('missing', undefined),
  value('null', null),
  value('a number', 7),
  value('a list', ['/etc/passwd']),
  value('an object', { toString: '/etc/passwd' }),
  value('true', true),
  value('empty', ''),
  tool('with NUL', 'fs.read\0'),
  tool('in capitals', 'FS.READ'),
  tool('with a path', '../fs.read'),
  tool('with a blank', 'fs.read '),
  tool('as a pattern', 'fs.*'),
  tool('of a prototype', '__proto__'),
  tool('as a list', ['fs.read']),
  tool('that was not granted', 'svc.workflow.run'),
  {
    ...{ title: 'a prototype that was sent before reaches no later call', kind: 'arguments' },
    async attempt(at) {
      await at.raw(withArguments('{"__proto__":{"recursive":true,"path":"/etc"}}', 'fs.delete'));
      await unpolluted(at);
    },
  },
];
