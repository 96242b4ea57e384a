import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { waitUntil } from '../../support/wait-until.ts';
import { ARGUMENTS } from '../../tools/argument-table.ts';
import { FILE_ERRORS } from '../../tools/file-errors.ts';
import type { Identified, IndependentAgent } from './independent-agent.ts';
import { SealNode } from './seal-node.ts';
import type { Answered, SealClient } from './transports.ts';

type Kind = 'hands' | 'bound' | 'brief' | 'bare';
type Args = Readonly<Record<string, unknown>>;

/** The same answer in terms of each transport. */
const ANSWERS = {
  ok: [200, undefined, 'OK'],
  denied: [403, -32000, 'PERMISSION_DENIED'],
  invalid: [422, -32602, 'INVALID_ARGUMENT'],
  limited: [429, -32000, 'RESOURCE_EXHAUSTED'],
  broken: [500, -32603, 'INTERNAL'],
} as const;

interface Row {
  readonly what: string;
  readonly agent?: Kind;
  readonly tool: string;
  readonly args: Args | ((at: SealNode) => Args);
  /** Of a result: its text. Of a failed tool: `CODE: `. */
  readonly says?: RegExp;
  /** Reason of a denial. */
  readonly reason?: string;
}

/** The limit of the agents `bound` for one tool, and more time than its calls take. */
const HOUR_MS = 3_600_000;
const CALLS_MS = 20_000;

const sh = (text: string): Args => ({ command: 'sh', args: ['-c', text] });
const edit = (target_content: string): Args => ({ path: 'err/file', target_content, replacement_content: '' });

/** Errors that tools have over SEAL (W31). */
const ROWS: readonly Row[] = [
  { what: 'a directory that exists', tool: 'fs.create_dir', args: { path: 'err' }, says: /\/workspace\/err/ },
  { what: 'the alias of a tool', tool: 'fs.create.dir', args: { path: 'err' }, says: /\/workspace\/err/ },
  { what: 'a directory that is not empty', tool: 'fs.delete', args: { path: 'err' }, says: /^DirectoryNotEmpty: / },
  { what: 'no match', tool: 'fs.edit', args: edit('nowhere'), says: /^TextNotFound: / },
  { what: 'several matches', tool: 'fs.edit', args: edit('t'), says: /^TextNotUnique: / },
  {
    what: 'one edit of several that fails',
    tool: 'fs.multi_edit',
    args: { path: 'err/file', edits: [{ target_content: 'text', replacement_content: 'x' }, edit('text')].map(only) },
    says: /^TextNotFound: .*edits\[1\]/,
  },
  { what: 'the file after that', tool: 'fs.read', args: { path: 'err/file' }, says: /^text$/ },
  { what: 'a bad regex', tool: 'fs.grep', args: { pattern: '(', path: '/' }, says: /^InvalidRegex: / },
  { what: 'a glob without a match', tool: 'fs.glob', args: { pattern: '*.none', path: '/' }, says: /^$/ },
  { what: 'a page', tool: 'web.fetch', args: (at) => ({ url: at.pages.url('/') }), says: /A page\./ },
  {
    what: 'a page that is 404',
    tool: 'web.fetch',
    args: (at) => ({ url: at.pages.url('/status/404') }),
    says: /^FetchFailed: .*404/,
  },
  {
    what: 'a page that is 500',
    tool: 'web.fetch',
    args: (at) => ({ url: at.pages.url('/status/500') }),
    says: /^FetchFailed: .*500/,
  },
  {
    what: 'a host that is not there',
    tool: 'web.fetch',
    args: { url: 'http://127.0.0.2:1025/' },
    says: /^FetchFailed: /,
  },
  {
    what: 'a page that never comes',
    tool: 'web.fetch',
    args: (at) => ({ url: at.pages.url('/never'), timeout_secs: 1 }),
    says: /^TimedOut: /,
  },
  { what: 'a private address', tool: 'web.fetch', args: { url: 'http://127.0.0.1:1025/' }, reason: 'DomainNotAllowed' },
  {
    what: 'a redirect to one',
    tool: 'web.fetch',
    args: (at) => ({ url: at.pages.url('/away') }),
    reason: 'DomainNotAllowed',
  },
  {
    what: 'a domain outside the allowlist',
    agent: 'bound',
    tool: 'web.fetch',
    args: { url: 'https://other.test/' },
    reason: 'DomainNotAllowed',
  },
  { what: 'a search', tool: 'web.search', args: { query: 'x' }, says: /about x/ },
  {
    what: 'a command not in spec.tools',
    agent: 'bare',
    tool: 'cmd.run',
    args: { command: 'sh' },
    reason: 'ToolNotAllowed',
  },
  { what: 'a command outside its list', tool: 'cmd.run', args: { command: 'rm' }, reason: 'CommandNotAllowed' },
  {
    what: 'a subcommand outside its list',
    tool: 'cmd.run',
    args: { command: 'git', args: ['push'] },
    reason: 'SubcommandNotAllowed',
  },
  {
    what: 'no subcommand where some are listed',
    tool: 'cmd.run',
    args: { command: 'git' },
    reason: 'SubcommandNotAllowed',
  },
  {
    what: 'a program that is not there',
    tool: 'cmd.run',
    args: { command: 'no-such-program' },
    says: /^CommandNotFound: /,
  },
  { what: 'an exit code other than 0', tool: 'cmd.run', args: sh('exit 7'), says: /"exit_code":7/ },
  {
    what: 'too much output',
    agent: 'brief',
    tool: 'cmd.run',
    args: sh('head -c 5000 /dev/zero'),
    says: /^OutputSizeLimitExceeded: .*1000 bytes/,
  },
  {
    what: 'too much time',
    agent: 'brief',
    tool: 'cmd.run',
    args: sh('sleep 30'),
    says: /^ExecTimeoutCeilingExceeded: .*1 s/,
  },
  {
    what: 'a tool of the deny list',
    agent: 'bound',
    tool: 'fs.delete',
    args: { path: 'x' },
    reason: 'ToolExplicitlyDenied',
  },
  {
    what: 'a path outside the allowlist',
    agent: 'bound',
    tool: 'fs.read',
    args: { path: '/etc/passwd' },
    reason: 'PathOutsideBoundary',
  },
  {
    what: 'a tool that no entry names',
    agent: 'bare',
    tool: 'fs.write',
    args: { path: 'x', content: '' },
    reason: 'ToolNotAllowed',
  },
];

function only({ target_content, replacement_content }: Args): Args {
  return { target_content, replacement_content };
}

describe('tools over SEAL, on a node, by one table for all interfaces', () => {
  let at: SealNode;
  let clients: readonly SealClient[];
  const executions = new Map<Kind, Identified>();
  const agents = new Map<string, IndependentAgent>();
  let id = 0;

  before(async () => {
    at = await SealNode.start();
    clients = [at.rest(), at.grpc(), at.internalRest()];
    for (const kind of ['hands', 'bound', 'brief', 'bare'] as const) executions.set(kind, await at.begin(kind));
    const [rest = assert.fail()] = clients;
    for (const client of clients) {
      for (const [kind, is] of executions) agents.set(`${kind} ${client.name}`, await at.attested(is, rest));
    }
    await call(rest, 'hands', 'fs.write', { path: 'err/file', content: 'text' });
  });
  after(() => at[Symbol.asyncDispose]());

  async function call(client: SealClient, kind: Kind, tool: string, args: unknown): Promise<Answered> {
    const agent = agents.get(`${kind} ${client.name}`) ?? assert.fail();
    id += 1;
    return client.invoke(agent.call(id, tool, args));
  }

  function assertAnswer(answer: Answered, client: SealClient, expected: keyof typeof ANSWERS): void {
    const [http, rpc, grpc] = ANSWERS[expected];
    const shown = `${client.name}: ${answer.text.slice(0, 500)}`;
    assert.equal(answer.status, client.transport === 'REST' ? http : grpc, shown);
    assert.equal(answer.rpcCode, client.transport === 'REST' ? rpc : undefined, shown);
    assert.equal(answer.retryAfter, expected === 'limited', shown);
  }

  describe('arguments', () => {
    async function invalid(client: SealClient, tool: string, args: unknown, field: string): Promise<void> {
      const answer = await call(client, 'hands', tool, args);
      assertAnswer(answer, client, 'invalid');
      assert.equal(answer.reason, 'InvalidArguments');
      assert.ok(answer.message.startsWith(`${tool}: ${field}`), answer.message);
    }

    for (const [tool, { right, required, wrong }] of Object.entries(ARGUMENTS)) {
      test(`${tool}: missing, null, wrong and unknown ones are refused by name before anything runs`, async () => {
        const before = await at.files();
        for (const client of clients.slice(0, 2)) {
          for (const field of required) {
            await invalid(client, tool, { ...right, [field]: null }, field);
            await invalid(
              client,
              tool,
              Object.fromEntries(Object.entries(right).filter(([name]) => name !== field)),
              field,
            );
          }
          for (const [field, values] of Object.entries(wrong)) {
            for (const value of values) await invalid(client, tool, { ...right, [field]: value }, field);
          }
          await invalid(client, tool, { ...right, path_: 1 }, 'path_');
          for (const given of [[], 'x', 1]) await invalid(client, tool, given, 'arguments');
        }
        assert.deepEqual(await at.files(), before);
      });
    }
  });

  describe('errors of files', () => {
    for (const [tool, args, expected] of FILE_ERRORS) {
      const [kind, code] = expected.split(' ');
      test(`${tool} ${JSON.stringify(args)}: ${code}`, async () => {
        for (const client of clients) {
          const answer = await call(client, 'hands', tool, args);
          assertAnswer(answer, client, kind === 'policy' ? 'denied' : 'ok');
          if (kind === 'policy') assert.equal(answer.reason, code);
          else assert.deepEqual([answer.result?.isError, answer.result?.text.startsWith(`${code}: `)], [true, true]);
        }
      });
    }
  });

  describe('results of tools', () => {
    for (const { what, agent = 'hands', tool, args, says, reason } of ROWS) {
      test(`${tool}, ${what}: ${reason ?? says}`, async () => {
        for (const client of clients) {
          const answer = await call(client, agent, tool, typeof args === 'function' ? args(at) : args);
          assertAnswer(answer, client, reason === undefined ? 'ok' : 'denied');
          assert.equal(answer.reason, reason);
          if (says === undefined) continue;
          assert.match(answer.result?.text ?? '', says);
          assert.equal(answer.result?.isError, /^\^[A-Z]\w+: /.test(says.source));
        }
      });
    }
  });

  test('a rate limit is 429 with Retry-After over REST, RESOURCE_EXHAUSTED with RetryInfo over gRPC', async () => {
    const [rest = assert.fail()] = clients;
    await windowWithRoom(HOUR_MS, CALLS_MS);
    assertAnswer(await call(rest, 'bound', 'fs.list', {}), rest, 'ok');
    for (const client of clients) {
      const agent = agents.get(`bound ${client.name}`) ?? assert.fail();
      const again = agent.call('limited', 'fs.list', {});
      // It never ran, so the same call is decided again.
      for (const _attempt of [1, 2]) {
        const answer = await client.invoke(again);
        assertAnswer(answer, client, 'limited');
        assert.equal(answer.reason, 'RateLimitExceeded');
      }
    }
  });

  test('a second concurrent command is denied, and runs when it is tried again', async () => {
    for (const client of clients) {
      const agent = agents.get(`bound ${client.name}`) ?? assert.fail();
      const first = client.invoke(agent.call('first', 'cmd.run', sh('sleep 1; echo one')));
      await waitUntil('the first command is allowed', async () => {
        const { bodies } = await at.audit(agent.sessionId);
        return bodies.some(({ kind, call: made }) => kind === 'decided' && String(made).includes('first'));
      });
      const second = agent.call('second', 'cmd.run', sh('echo two'));
      const denied = await client.invoke(second);
      assertAnswer(denied, client, 'denied');
      assert.equal(denied.reason, 'ConcurrentExecLimitExceeded');
      assert.match((await first).result?.text ?? '', /one/);
      assert.match((await client.invoke(second)).result?.text ?? '', /two/);
    }
  });

  test('an internal failure is 500 -32603 over REST, INTERNAL over gRPC, without details', async () => {
    const is = await at.begin('hands');
    const home = join(at.node.directory, 'data', 'volumes');
    for (const client of clients) {
      const agent = await at.attested(is, client.name === 'gRPC' ? client : (clients[0] ?? assert.fail()));
      await client.invoke(agent.call(1, 'fs.write', { path: 'a', content: 'a' }));
      const workspace = [...(await at.files()).keys()].find((path) => path.endsWith(is.execution_id));
      if (workspace?.startsWith(home) !== true) assert.fail('the workspace is a directory of the execution');
      await rm(workspace, { recursive: true });
      await writeFile(workspace, 'no directory');
      const answer = await client.invoke(agent.call(2, 'fs.read', { path: 'a' }));
      assertAnswer(answer, client, 'broken');
      assert.doesNotMatch(answer.text, new RegExp(at.node.directory));
      await rm(workspace);
    }
  });
});

/**
 * For limits with windows of this machine's clock: when the window ends within `neededMs`, resolves once the next one
 * has begun. Otherwise the calls of a test could fall into two windows.
 */
async function windowWithRoom(windowMs: number, neededMs: number): Promise<void> {
  const leftMs = windowMs - (Date.now() % windowMs);
  if (leftMs < neededMs) await pause(leftMs);
}
