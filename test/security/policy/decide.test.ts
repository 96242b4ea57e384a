import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { commandCeilings } from '../../../security/policy/matching.ts';
import { createToolPolicy, domainProblem } from '../../../security/policy/policy.ts';
import { TOOL_CONTRACTS } from '../../../tools/contracts.ts';
import { commands, decide, ECHO, grant, mcpTool, policy, tool, verdict } from './policy-decisions.ts';

type Given = Parameters<typeof grant>[0];
type Row = readonly [title: string, given: Given, name: string, args: unknown, verdict: string];

function table(rows: readonly Row[]): void {
  for (const [title, given, name, args, expected] of rows)
    test(`${title}: ${expected}`, () => assert.equal(verdict(decide(given, name, args)), expected));
}

const READ = { path: '/workspace/a' };
const WORKSPACE = [{ tool_pattern: 'fs.*', path_allowlist: ['/workspace/**'] }];

describe('whether a tool may be called at all', () => {
  table([
    ['everything', {}, 'fs.read', READ, 'allowed'],
    ['unknown', {}, 'fs.nothing', {}, 'ToolNotAllowed'],
    ['denied by the deny list first', { deny_list: ['fs.read'] }, 'fs.read', null, 'ToolExplicitlyDenied'],
    ['denied by its alias', { deny_list: ['fs.create.dir'] }, 'fs.create.dir', READ, 'ToolExplicitlyDenied'],
    ['an alias of a denied tool', { deny_list: ['fs.create_dir'] }, 'fs.create.dir', READ, 'ToolExplicitlyDenied'],
    ['denied though it is not offered', { deny_list: ['x.y'], tools: [] }, 'x.y', {}, 'ToolExplicitlyDenied'],
    ['by its alias', { manifest: [tool('fs.create_dir')] }, 'fs.create.dir', READ, 'allowed'],
    ['no capability', { capabilities: [] }, 'fs.read', READ, 'ToolNotAllowed'],
    ['another capability', { capabilities: [{ tool_pattern: 'web.*' }] }, 'fs.read', READ, 'ToolNotAllowed'],
    ['a pattern', { capabilities: [{ tool_pattern: 'fs.*' }] }, 'fs.read', READ, 'allowed'],
    ['half a pattern', { capabilities: [{ tool_pattern: 'f.*' }] }, 'fs.read', READ, 'ToolNotAllowed'],
    ['no tools in the manifest', { manifest: [] }, 'fs.read', READ, 'ToolNotAllowed'],
    ['another tool in the manifest', { manifest: [tool('fs.write')] }, 'fs.read', READ, 'ToolNotAllowed'],
    ['a pattern in the manifest', { manifest: [tool('fs.*')] }, 'fs.read', READ, 'allowed'],
    ['case counts', {}, 'FS.READ', READ, 'ToolNotAllowed'],
    ['not pinned', { tools: [ECHO] }, 'fs.read', READ, 'ToolNotAllowed'],
    [
      'all tools of a server',
      { manifest: [tool('demo', { server: 'mcp:demo' })] },
      'demo.echo',
      { message: 'x' },
      'allowed',
    ],
    [
      'one tool of a server',
      { manifest: [tool('echo', { server: 'mcp:demo' })] },
      'demo.echo',
      { message: 'x' },
      'allowed',
    ],
    [
      'another of a server',
      { manifest: [tool('add', { server: 'mcp:demo' })] },
      'demo.echo',
      { message: 'x' },
      'ToolNotAllowed',
    ],
    [
      'another server',
      { manifest: [tool('other', { server: 'mcp:other' })] },
      'demo.echo',
      { message: 'x' },
      'ToolNotAllowed',
    ],
    [
      'mcp:filesystem without such a server',
      { manifest: [tool('filesystem', { server: 'mcp:filesystem' })] },
      'fs.read',
      READ,
      'allowed',
    ],
    [
      'mcp:filesystem with such a server',
      {
        manifest: [tool('filesystem', { server: 'mcp:filesystem' })],
        tools: [...grant().tools, mcpTool('filesystem', 'read', {})],
      },
      'fs.read',
      READ,
      'ToolNotAllowed',
    ],
    [
      'mcp:web-search is web.fetch',
      { manifest: [tool('w', { server: 'mcp:web-search' })] },
      'web.fetch',
      { url: 'http://a.b' },
      'allowed',
    ],
    [
      'mcp:web-search is no fs.read',
      { manifest: [tool('w', { server: 'mcp:web-search' })] },
      'fs.read',
      READ,
      'ToolNotAllowed',
    ],
  ]);

  test('a server that is down gives an agent no tool that it did not have while the server was up', () => {
    const narrow = { server: 'mcp:filesystem', config: { allowed_paths: ['/workspace/a'] } };
    const manifest = [tool('filesystem', narrow), tool('fs.read', { server: 'mcp:files' })];
    const read = (mcp_servers: string[]) =>
      verdict(decide({ manifest, mcp_servers }, 'fs.read', { path: '/workspace/a/x' }));
    assert.equal(read([]), 'allowed', 'no such server is configured: it stands for fs.*');
    assert.equal(read(['filesystem']), 'ToolNotAllowed', 'it is configured, and none of its tools is pinned');
  });

  test('fs.* matches tools of fs only, not of fsx', () => {
    const tools = [mcpTool('fsx', 'read', {}), mcpTool('fs', 'x', {})];
    const given = { tools, capabilities: [{ tool_pattern: 'fs.*' }] };
    assert.equal(verdict(decide(given, 'fsx.read', {})), 'ToolNotAllowed');
    assert.equal(verdict(decide(given, 'fs.x', {})), 'allowed');
  });

  test('a tool that this node does not know is denied as changed', () => {
    const tools = grant().tools.map((offer) => (offer.name === 'fs.read' ? { ...offer, name: 'fs.future' } : offer));
    assert.equal(verdict(decide({ tools }, 'fs.future', {})), 'ToolChanged');
  });
});

describe('arguments are checked before paths, domains and commands', () => {
  table([
    ['none', {}, 'fs.read', undefined, 'InvalidArguments arguments'],
    ['null', {}, 'fs.read', null, 'InvalidArguments arguments'],
    ['a list', {}, 'fs.read', [READ], 'InvalidArguments arguments'],
    ['missing', {}, 'fs.read', {}, 'InvalidArguments path'],
    ['null for it', {}, 'fs.read', { path: null }, 'InvalidArguments path'],
    ['another type', {}, 'fs.read', { path: 5 }, 'InvalidArguments path'],
    ['unknown', {}, 'fs.read', { ...READ, colour: 1 }, 'InvalidArguments colour'],
    ['a prototype', {}, 'fs.read', JSON.parse('{"path":"a","__proto__":{}}'), 'InvalidArguments arguments'],
    ['before the boundary', { capabilities: WORKSPACE }, 'fs.write', { path: '/etc/x' }, 'InvalidArguments content'],
    ['before the allowlist', { manifest: [commands({})] }, 'cmd.run', { command: '' }, 'InvalidArguments command'],
    ['of a server: missing', {}, 'demo.echo', {}, 'InvalidArguments message'],
    ['of a server: null', {}, 'demo.echo', { message: null }, 'InvalidArguments message'],
    ['of a server: type', {}, 'demo.echo', { message: 5 }, 'InvalidArguments message'],
    ['of a server: length', {}, 'demo.echo', { message: 'x'.repeat(11) }, 'InvalidArguments message'],
    ['of a server: unknown', {}, 'demo.echo', { message: 'x', y: 1 }, 'InvalidArguments arguments'],
    [
      'of a server: broken schema',
      { tools: [mcpTool('demo', 'x', { type: 'nonsense' })] },
      'demo.x',
      {},
      'InvalidArguments',
    ],
    [
      'of a server: far schema',
      { tools: [mcpTool('demo', 'x', { $ref: 'http://a/b' })] },
      'demo.x',
      {},
      'InvalidArguments',
    ],
  ]);

  test('the message names the tool, the field and what was expected', () => {
    const message = (name: string, args: unknown): string => {
      const decision = decide({}, name, args);
      return decision.allowed ? '' : decision.message;
    };
    assert.equal(message('fs.read', {}), 'fs.read: path: missing, expected text');
    assert.equal(message('demo.echo', {}), 'demo.echo: message: missing, expected a value');
    assert.match(
      message('fs.multi_edit', { path: 'a', edits: [{}] }),
      /^fs\.multi_edit: edits\.0\.target_content: expected/,
    );
  });

  test('defaults are filled in', () => {
    const decision = decide({}, 'web.search', { query: 'x' });
    assert.deepEqual(decision.allowed && decision.arguments, { query: 'x', max_results: 10 });
  });
});

describe('paths', () => {
  const filesystem = { read: ['/workspace/**'], write: ['/workspace/out/**'], read_only: false };
  const write = (path: string) => ({ path, content: '' });
  const entry = (config: object): Given => ({
    manifest: [tool('filesystem', { server: 'mcp:filesystem', config: { ...config } })],
  });
  table([
    ...['/etc/passwd', '/workspacex/a', '/', '/workspace2', '/Workspace/a'].map(
      (path): Row => [path, { capabilities: WORKSPACE }, 'fs.read', { path }, 'PathOutsideBoundary path'],
    ),
    ...['a', './a', '/workspace', '/workspace/', '/workspace//a/.//b', 'a..b', '...', '%2e%2e/a', '.hidden'].map(
      (path): Row => [path, { capabilities: WORKSPACE }, 'fs.read', { path }, 'allowed'],
    ),
    ...['..', '../a', 'a/../b', '/workspace/../etc', 'a/..', '..\\a', 'a\\..\\b'].map(
      (path): Row => [path, {}, 'fs.read', { path }, 'PathTraversalAttempt path'],
    ),
    ...['a\0b', 'a\nb', 'a\u007f', '\ud800'].map(
      (path): Row => [JSON.stringify(path), {}, 'fs.read', { path }, 'InvalidArguments path'],
    ),
    ['the manifest reads here', { filesystem }, 'fs.read', { path: 'a' }, 'allowed'],
    ['the manifest does not write here', { filesystem }, 'fs.write', write('a'), 'PathOutsideBoundary path'],
    ['the manifest writes here', { filesystem }, 'fs.write', write('out/a'), 'allowed'],
    [
      'nothing is written',
      { filesystem: { read: [], write: [], read_only: true } },
      'fs.write',
      write('a'),
      'PathOutsideBoundary path',
    ],
    [
      'empty lists leave it open',
      { filesystem: { read: [], write: [], read_only: false } },
      'fs.write',
      write('/a'),
      'allowed',
    ],
    [
      'both must hold',
      { filesystem, capabilities: WORKSPACE },
      'fs.read',
      { path: '/data/a' },
      'PathOutsideBoundary path',
    ],
    ['mcp:filesystem reads', entry({}), 'fs.read', { path: 'a' }, 'allowed'],
    ['mcp:filesystem is read-only', entry({}), 'fs.write', write('a'), 'PathOutsideBoundary path'],
    ['mcp:filesystem is under /workspace', entry({}), 'fs.read', { path: '/etc/a' }, 'PathOutsideBoundary path'],
    ['mcp:filesystem may write', entry({ access_mode: 'read-write' }), 'fs.write', write('a'), 'allowed'],
    ['mcp:filesystem elsewhere', entry({ allowed_paths: ['/data'] }), 'fs.read', { path: '/data/a' }, 'allowed'],
    [
      'mcp:filesystem beside it',
      entry({ allowed_paths: ['/data'] }),
      'fs.read',
      { path: '/database' },
      'PathOutsideBoundary path',
    ],
    [
      'an empty allowlist',
      { capabilities: [{ path_allowlist: [] }] },
      'fs.read',
      { path: 'a' },
      'PathOutsideBoundary path',
    ],
    [
      'a path of a server',
      { capabilities: WORKSPACE.map((one) => ({ ...one, tool_pattern: '*' })) },
      'demo.echo',
      { message: 'x', path: '/etc' },
      'PathOutsideBoundary path',
    ],
    ['a path of a server that nothing binds', {}, 'demo.echo', { message: 'x', path: '../x' }, 'allowed'],
  ]);
});

describe('domains', () => {
  const fetchOf = (host: string) => ({ url: `https://${host}/x` });
  const allow = (...domain_allowlist: string[]): Given => ({ capabilities: [{ domain_allowlist }] });
  const network = (mode: 'allow' | 'deny' | 'none', allowlist: string[] = [], denylist: string[] = []): Given => ({
    network: { mode, allowlist, denylist },
  });
  const no = 'DomainNotAllowed url';
  const rows: readonly [Given, string, string][] = [
    [allow('example.com'), 'example.com', 'allowed'],
    [allow('example.com'), 'api.example.com', 'allowed'],
    [allow('example.com'), 'EXAMPLE.com.', 'allowed'],
    [allow('Example.COM.'), 'example.com', 'allowed'],
    [allow('example.com'), 'badexample.com', no],
    [allow('example.com'), 'example.com.evil.org', no],
    [allow('example.com'), 'com', no],
    [allow('*.example.com'), 'a.example.com', 'allowed'],
    [allow('*.example.com'), 'example.com', no],
    [allow('müller.de'), 'xn--mller-kva.de', 'allowed'],
    [allow(), 'example.com', no],
    [allow('*'), 'example.com', 'allowed'],
    [allow('10.0.0.0/8'), '10.1.2.3', 'allowed'],
    [allow('10.0.0.0/8'), '11.1.2.3', no],
    [allow('10.0.0.0/8'), 'ten.example.com', no],
    [allow('127.0.0.1'), '2130706433', 'allowed'],
    [allow('127.0.0.1'), '[::ffff:127.0.0.1]', 'allowed'],
    [allow('::1'), '[::1]', 'allowed'],
    [allow('2001:db8::/32'), '[2001:db8::5]', 'allowed'],
    [allow('1.2.3.4'), '5.1.2.3', no],
    [network('deny'), 'example.com', no],
    [network('deny', ['example.com']), 'example.com', 'allowed'],
    [network('deny', ['example.com'], ['bad.example.com']), 'bad.example.com', no],
    [network('deny', ['example.com'], ['example.com']), 'example.com', no],
    [network('allow'), 'example.com', 'allowed'],
    [network('allow', ['example.com']), 'example.org', no],
    [network('allow', [], ['169.254.0.0/16']), '169.254.169.254', no],
    [network('allow', [], ['169.254.0.0/16']), '0xa9fea9fe', no],
    [network('allow', [], ['127.0.0.0/8']), '[::ffff:7f00:1]', no],
    [network('none'), 'example.com', no],
    [{ ...allow('example.com'), ...network('deny', ['example.org']) }, 'example.com', no],
  ];
  table(
    rows.map(([given, host, expected]) => [
      `${JSON.stringify(given)} ${host}`,
      given,
      'web.fetch',
      fetchOf(host),
      expected,
    ]),
  );

  test('a search is denied where no host at all may be reached', () => {
    const search = (given: Given) => verdict(decide(given, 'web.search', { query: 'x' }));
    for (const given of [network('none'), network('none', ['example.com']), network('deny'), allow()]) {
      assert.equal(search(given), 'DomainNotAllowed', JSON.stringify(given));
    }
    for (const given of [{}, network('allow'), network('deny', ['example.com']), allow('example.com')]) {
      assert.equal(search(given), 'allowed', JSON.stringify(given));
    }
  });

  test('the target of a redirect is checked by the same rules', () => {
    const scope = grant({ network: { mode: 'deny', allowlist: ['example.com'], denylist: [] } });
    assert.equal(domainProblem(scope, 'web.fetch', 'a.example.com'), null);
    assert.match(domainProblem(scope, 'web.fetch', 'evil.org') ?? '', /evil\.org is not in the manifest/);
    assert.match(domainProblem(scope, 'web.fetch', '') ?? '', /expected a host/);
    const config = { allowed_domains: ['example.com'] };
    const narrowed = grant({ manifest: [tool('w', { server: 'mcp:web-search', config })] });
    assert.equal(domainProblem(narrowed, 'web.search', 'example.com'), null);
    assert.match(domainProblem(narrowed, 'web.search', 'example.org') ?? '', /allowed_domains/);
    assert.notEqual(domainProblem(narrowed, 'fs.read', 'example.com'), null, 'no entry grants it');
  });
});

describe('commands', () => {
  const git: Given = { manifest: [commands({ git: ['status', 'log'], ls: [] })] };
  const under = (capability: object): Given => ({ ...git, capabilities: [capability] });
  const run = (command: string, ...args: string[]) => ({ command, args });
  table([
    ['allowed', git, 'cmd.run', run('git', 'status'), 'allowed'],
    ['another first', git, 'cmd.run', run('git', 'push'), 'SubcommandNotAllowed args'],
    ['no first', git, 'cmd.run', run('git'), 'SubcommandNotAllowed args'],
    ['an option before it', git, 'cmd.run', run('git', '-C', '/', 'status'), 'SubcommandNotAllowed args'],
    ['any first', git, 'cmd.run', run('ls', '-la'), 'allowed'],
    ['another command', git, 'cmd.run', run('rm', '-rf'), 'CommandNotAllowed command'],
    ['with its path', git, 'cmd.run', run('/usr/bin/git', 'status'), 'CommandNotAllowed command'],
    ['a name of every object', git, 'cmd.run', run('constructor'), 'CommandNotAllowed command'],
    ['no list in the manifest', { manifest: [tool('cmd.run')] }, 'cmd.run', run('ls'), 'CommandNotAllowed command'],
    ['cmd.* in the manifest', { manifest: [tool('cmd.*')] }, 'cmd.run', run('ls'), 'CommandNotAllowed command'],
    ['no manifest', {}, 'cmd.run', run('ls'), 'CommandNotAllowed command'],
    [
      'a list that is none',
      { manifest: [commands({}, { subcommand_allowlist: { ls: [5] } })] },
      'cmd.run',
      run('ls'),
      'CommandNotAllowed command',
    ],
    [
      'not in the context',
      under({ command_allowlist: ['ls'] }),
      'cmd.run',
      run('git', 'log'),
      'CommandNotAllowed command',
    ],
    ['in the context', under({ command_allowlist: ['git'] }), 'cmd.run', run('git', 'log'), 'allowed'],
    [
      'first not in the context',
      under({ subcommand_allowlist: { git: ['log'] } }),
      'cmd.run',
      run('git', 'status'),
      'SubcommandNotAllowed args',
    ],
    [
      'only first arguments in the context',
      under({ subcommand_allowlist: { git: [] } }),
      'cmd.run',
      run('ls'),
      'CommandNotAllowed command',
    ],
    [
      'another name for the entry',
      { manifest: [{ ...commands({ ls: [] }), name: 'shell' }] },
      'cmd.run',
      run('ls'),
      'allowed',
    ],
    ['the second entry', { manifest: [tool('cmd.run'), commands({ ls: [] })] }, 'cmd.run', run('ls'), 'allowed'],
    ['not in spec.tools', { manifest: [tool('fs.read')] }, 'cmd.run', run('ls'), 'ToolNotAllowed'],
  ]);
});

describe('the first capability that matches and holds allows', () => {
  const capabilities = [
    { tool_pattern: 'fs.read', path_allowlist: ['/data/**'], max_response_size: 1 },
    { tool_pattern: 'fs.*', path_allowlist: ['/workspace/**'], max_response_size: 2 },
    { tool_pattern: '*', path_allowlist: ['/**'], max_response_size: 3 },
  ];
  for (const [path, bytes] of [
    ['/data/a', 1],
    ['/workspace/a', 2],
    ['/etc/a', 3],
  ] as const)
    test(`${path} by capability ${bytes}`, () => {
      const decision = decide({ capabilities }, 'fs.read', { path });
      assert.deepEqual(decision.allowed && decision.limits, { max_response_bytes: bytes });
    });

  test('of several reasons the one of the last check reached is reported', () => {
    const capabilities = [
      { command_allowlist: [] },
      { subcommand_allowlist: { git: ['log'] } },
      { command_allowlist: ['ls'] },
    ];
    const given = { capabilities, manifest: [commands({ git: [] })] };
    assert.equal(verdict(decide(given, 'cmd.run', { command: 'git', args: ['push'] })), 'SubcommandNotAllowed args');
  });
});

describe('limits', () => {
  test('of a node that made the grant count on every other node', () => {
    const ceilings = {
      ...{ default_timeout_secs: 5, max_timeout_ceiling_secs: 7, max_output_bytes: 100 },
      ...{ max_concurrent_per_execution: 2, global_env_denylist: ['PINNED'] },
    };
    const manifest = [commands({ ls: [] }, { timeout_ceiling_secs: 900 })];
    const decision = decide({ manifest, ceilings }, 'cmd.run', { command: 'ls' });
    const { command } = decision.allowed ? decision.limits : {};
    assert.deepEqual([command?.timeout_secs, command?.max_output_bytes, command?.max_concurrent], [7, 100, 2]);
    assert.ok(command?.env_denylist.includes('PINNED'));
  });

  test('of a command are the smaller of the manifest and the node', () => {
    const ceilings = {
      ...commandCeilings([]),
      max_timeout_ceiling_secs: 100,
      max_output_bytes: 1_000,
      global_env_denylist: ['A'],
    };
    const bounded = createToolPolicy({ contracts: TOOL_CONTRACTS, ceilings });
    const limits = (config: object) => {
      const given = grant({ manifest: [commands({ ls: [] }, config)] });
      const decision = bounded.decide(given, { name: 'cmd.run', arguments: { command: 'ls' } });
      assert.ok(decision.allowed && decision.limits.command !== undefined);
      return decision.limits.command;
    };
    const given = limits({ timeout_ceiling_secs: 300, max_output_bytes: 10, env_var_denylist: ['B'] });
    assert.deepEqual([given.timeout_secs, given.max_output_bytes, given.max_concurrent], [100, 10, 1]);
    for (const name of ['A', 'B', 'AWS_*']) assert.ok(given.env_denylist.includes(name), name);
    assert.deepEqual([limits({}).timeout_secs, limits({}).max_output_bytes], [60, 1_000]);
  });

  test('rates and counts come from the capability and from the manifest, and both hold', () => {
    const rate_limit = { calls: 5, per_seconds: 60 };
    const config = { max_calls_per_execution: 50, max_results_per_query: 3 };
    const manifest = [tool('w', { server: 'mcp:web-search', config })];
    const inAll = { key: 'manifest:mcp:web-search', calls: 50, per_seconds: 86_400 };
    const own = decide({ capabilities: [{ rate_limit, max_concurrent: 2 }], manifest }, 'web.search', { query: 'x' });
    assert.deepEqual(own.allowed && own.limits, {
      rate_limits: [{ key: 'test:*', ...rate_limit }, inAll],
      max_concurrent: 2,
      capability: '*',
    });
    const theirs = decide({ manifest }, 'web.search', { query: 'x' });
    assert.ok(theirs.allowed);
    assert.deepEqual(theirs.limits.rate_limits, [inAll]);
    assert.equal(theirs.arguments.max_results, 3, 'no more results than the manifest wants');
  });
});

test('the same grant and call get the same decision, and neither is changed', () => {
  const given = Object.freeze(grant({ manifest: [commands({ ls: [] })] }));
  const call = Object.freeze({
    name: 'cmd.run',
    arguments: Object.freeze({ command: 'ls', args: Object.freeze(['-l']) }),
  });
  assert.deepEqual(policy.decide(given, call), policy.decide(given, call));
});
