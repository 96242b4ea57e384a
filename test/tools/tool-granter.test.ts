import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BuiltinDispatchers } from '../../manifests/node/tools.ts';
import { ToolGrant } from '../../manifests/tool/scope.ts';
import type { Identity } from '../../runtime/identity.ts';
import { createSecurityContexts } from '../../security/policy/contexts.ts';
import { commandCeilings, isListed } from '../../security/policy/matching.ts';
import { SKIP_JUDGE } from '../../tools/contract/arguments.ts';
import { BUILT_IN, TOOL_CONTRACTS } from '../../tools/contracts.ts';
import { MANAGEMENT_CONTRACTS } from '../../tools/management/contracts.ts';
import { createGrantEffect } from '../../tools/tool-effect.ts';
import { createToolGranter, type ToolGranterParts } from '../../tools/tool-granter.ts';
import type { McpServers, McpTool } from '../../usecases/ports/mcp-servers.ts';
import { everyTool, TENANT, toolContext, toolsUnderTest } from './granted-tools.ts';

const granter = (parts: Partial<ToolGranterParts> = {}) =>
  createToolGranter({ contexts: createSecurityContexts([]), isListed, ...parts });
const names = ({ tools }: ToolGrant): string[] => tools.map(({ name }) => name).sort();
const manifest = (...entries: object[]) => everyTool({ manifest: entries.map((entry) => ({ config: {}, ...entry })) });

const tool = (more: Partial<McpTool> = {}): McpTool => ({
  ...{ server: 'files', tool: 'read', description: 'Reads', inputSchema: { type: 'object' } },
  ...{ skipJudge: false, reads: true, repeatable: false, ...more },
});
const servers = (...tools: McpTool[]): Pick<McpServers, 'tools' | 'status'> => ({
  tools: async () => tools,
  status: () =>
    [...new Set(tools.map(({ server }) => server))].map((name) => ({
      ...{ name, status: 'ready', restarts: 0 },
      error: null,
    })),
});

describe('a grant', () => {
  test('has nothing for an agent without tools, and what its manifest names for others', async () => {
    assert.deepEqual(names(await granter().grant(TENANT, everyTool({ manifest: [] }))), []);
    assert.deepEqual(names(await granter().grant(TENANT, manifest({ name: 'fs.read' }))), ['fs.read']);
    assert.equal(
      (await granter().grant(TENANT, everyTool())).tools.length,
      BUILT_IN.length - MANAGEMENT_CONTRACTS.length,
    );
    const cmd = await granter().grant(TENANT, manifest({ name: 'shell', executor: 'builtin:cmd' }));
    assert.deepEqual(names(cmd), ['cmd.run']);
  });

  test('fits its schema, and the effect tools.grant answers it', async () => {
    const grant = await createGrantEffect(granter()).run(everyTool(), toolContext());
    assert.equal(ToolGrant.parse(grant).security_context, 'svc-system-agent-runtime');
    await assert.rejects(granter().grant(TENANT, everyTool({ security_context: 'none' })), { code: 'not_found' });
    await assert.rejects(granter().grant(TENANT, everyTool({ security_context: 'svc-system-operator' })), {
      code: 'forbidden',
    });
  });

  test('names tools of MCP servers SERVER.TOOL; a built-in name is never taken', async () => {
    const mcp = servers(tool(), tool({ server: 'fs', tool: 'read' }), tool({ tool: 'change', reads: false }));
    const contexts = createSecurityContexts([], { mcpServers: ['files', 'fs'] });
    const all = granter({ mcp, contexts });
    const { tools } = await all.grant(
      TENANT,
      manifest({ name: 'files', server: 'mcp:files' }, { name: 'fs', server: 'mcp:fs' }),
    );
    assert.deepEqual(
      tools.map(({ name, source, server, mode }) => [name, source, server, mode]),
      [
        ['files.read', 'mcp', 'files', 'repeatable'],
        ['files.change', 'mcp', 'files', 'once'],
      ],
    );
    assert.equal((await all.offer('fs.read'))?.source, 'builtin');
  });

  test('a grant notices a tool that changes', async () => {
    const before = await granter({ mcp: servers(tool()) }).offer('files.read');
    const after = await granter({ mcp: servers(tool({ description: 'Reads, and sends it away' })) }).offer(
      'files.read',
    );
    assert.notEqual(before?.schema_hash, after?.schema_hash);
    assert.equal(await granter({ mcp: servers() }).offer('files.read'), null);
  });

  test('mcp:filesystem means fs.* unless a server of that name is configured', async () => {
    const request = manifest({ name: 'filesystem', server: 'mcp:filesystem' });
    assert.ok(names(await granter().grant(TENANT, request)).includes('fs.read'));
    const mcp = servers(tool({ server: 'filesystem', tool: 'look' }));
    const contexts = createSecurityContexts([], { mcpServers: ['filesystem'] });
    assert.deepEqual(names(await granter({ mcp, contexts }).grant(TENANT, request)), ['filesystem.look']);
  });

  test('pins which servers are configured, those that are down too, and the ceilings of its node', async () => {
    const down = {
      ...servers(),
      status: () => [{ name: 'filesystem', status: 'restarting' as const, restarts: 3, error: 'x' }],
    };
    const ceilings = commandCeilings([]);
    const grant = await granter({ mcp: down, ceilings }).grant(
      TENANT,
      manifest({ name: 'f', server: 'mcp:filesystem' }),
    );
    assert.deepEqual([grant.tools, grant.mcp_servers, grant.ceilings], [[], ['filesystem'], ceilings]);
  });

  test('a grant excludes tools that the node cannot run', async () => {
    const offered = names(await granter({ without: new Set(['web.search']) }).grant(TENANT, everyTool()));
    assert.ok(!offered.includes('web.search') && offered.includes('web.fetch'));
  });
});

describe('a caller without an execution', () => {
  const caller = (more: Partial<Identity>): Identity => ({
    kind: 'local',
    subject: 'ada',
    tenant: TENANT,
    roles: [],
    tier: 'free',
    ...more,
  });

  test('is offered no files and no commands', async () => {
    for (const identity of [caller({}), caller({ kind: 'consumer' }), caller({ kind: 'service_account' })]) {
      const offered = names(await granter().callerGrant(identity));
      assert.deepEqual(
        offered.filter((name) => name.startsWith('fs.') || name === 'cmd.run'),
        [],
      );
      assert.ok(offered.includes('svc.tools.list'), identity.kind);
    }
  });
});

describe('judges', () => {
  test('the compiled-in defaults are those of the specification for each name and alias', () => {
    for (const [name, { skipJudge }] of TOOL_CONTRACTS) {
      // The list of the specification does not have this tool: its calls are judged.
      assert.equal(skipJudge, name === 'svc.execute' ? false : SKIP_JUDGE.get(name), name);
    }
    assert.equal(SKIP_JUDGE.size, 63);
    assert.equal([...SKIP_JUDGE.values()].filter((skip) => !skip).length, 19);
  });

  test('the operator’s setting counts, by name or alias, and not that of a dispatcher that is off', async () => {
    const skip = async (dispatchers: unknown) => {
      const offers = await granter({ dispatchers: BuiltinDispatchers.parse(dispatchers) }).list(
        await granter().grant(TENANT, everyTool()),
      );
      return (name: string) => offers.find((offer) => offer.name === name)?.skip_judge;
    };
    const capabilities = [
      { name: 'fs.create.dir', skip_judge: true },
      { name: 'fs.read', skip_judge: false },
    ];
    const on = await skip([{ name: 'fs', capabilities }]);
    assert.deepEqual([on('fs.create_dir'), on('fs.read'), on('fs.write'), on('fs.list')], [true, false, false, true]);
    const off = await skip([{ name: 'fs', enabled: false, capabilities }]);
    assert.deepEqual([off('fs.create_dir'), off('fs.read')], [false, true]);
  });
});

describe('svc.tools.list and svc.tools.search', () => {
  test('answer what the scope may call, and nothing else', async () => {
    await using bench = await toolsUnderTest({ request: manifest({ name: 'fs.read' }, { name: 'svc.tools.*' }) });
    const { structured, content } = await bench.call('svc.tools.list', {});
    assert.deepEqual(JSON.parse(String(content[0]?.text)), structured);
    assert.deepEqual(structured, {
      tool: 'svc.tools.list',
      tools: ['fs.read', 'svc.tools.list', 'svc.tools.search'].map((name) => ({
        ...{ name, description: TOOL_CONTRACTS.get(name)?.description, source: 'builtin', skip_judge: true },
      })),
      total: 3,
    });
    assert.equal((await bench.call('svc.tools.search', {})).structured?.total, 3);
    assert.equal((await bench.call('svc.tools.search', { query: 'TEXT FILE' })).structured?.total, 1);
    assert.equal((await bench.call('svc.tools.search', { query: 'fs.write' })).structured?.total, 0);
  });
});
