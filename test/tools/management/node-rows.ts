import assert from 'node:assert/strict';
import { has, listOf, type Row } from './row.ts';
import type { Result, Setting } from './setting.ts';

const namesIn = ({ tools }: Result): unknown[] => listOf(tools).map(({ name }) => name);

const firstProblem =
  (path: RegExp): Row['gives'] =>
  (result) => {
    assert.equal(result.valid, false);
    const [problem] = listOf(result.errors);
    assert.match(String(problem?.path), path);
    assert.deepEqual(Object.keys(problem ?? {}), ['path', 'line', 'column', 'message']);
  };

const agent = (at: Setting) => ({ kind: 'agent', manifest_yaml: at.agentYaml() });
const workflow = (at: Setting) => ({ kind: 'workflow', manifest_yaml: at.workflowYaml() });

/** svc.tools.*, svc.system.*, svc.schema.* and svc.runtime.list (W39, W41). */
export const NODE_ROWS: readonly Row[] = [
  {
    ...{ tool: 'svc.tools.list', what: 'lists what the caller may use', args: {} },
    gives: (result) => {
      assert.deepEqual([result.tool, result.total], ['svc.tools.list', listOf(result.tools).length]);
      const one = listOf(result.tools).find(({ name }) => name === 'svc.workflow.run');
      assert.deepEqual({ ...one, source: 'builtin', skip_judge: false }, one);
      assert.deepEqual(Object.keys(one ?? {}).sort(), ['description', 'name', 'skip_judge', 'source']);
    },
  },
  {
    ...{ tool: 'svc.tools.search', what: 'finds by name', args: { query: 'WORKFLOW.Promote' } },
    gives: (result) =>
      assert.deepEqual([result.tool, namesIn(result), result.total], ['svc.tools.search', ['svc.workflow.promote'], 1]),
  },
  {
    ...{ tool: 'svc.tools.search', what: 'finds by description', args: { query: 'languages and versions' } },
    gives: (result) => assert.deepEqual(namesIn(result), ['svc.runtime.list']),
  },
  {
    ...{ tool: 'svc.tools.search', what: 'finds nothing where nothing fits', args: { query: 'no such tool' } },
    gives: has({ tools: [], total: 0 }),
  },
  {
    ...{ tool: 'svc.tools.search', what: 'without a query is svc.tools.list', args: {} },
    gives: async (result, _args, at) => {
      const { tools, total } = await at.ok('svc.tools.list', {});
      assert.deepEqual(result, { tool: 'svc.tools.search', tools, total });
    },
  },
  {
    ...{ tool: 'svc.system.info', what: 'tells version, health and the tools of the caller', args: {} },
    gives: async ({ version, status, capabilities }, _args, at) => {
      assert.equal(status, 'healthy');
      assert.match(String(version), /^\d/);
      assert.deepEqual(capabilities, namesIn(await at.ok('svc.tools.list', {})));
    },
  },
  {
    ...{ tool: 'svc.system.config', what: 'shows the configuration in force', args: {} },
    gives: ({ config_path, content_yaml }) => {
      assert.ok(config_path === null || typeof config_path === 'string');
      assert.match(String(content_yaml), /^apiVersion: svc\.dev\/v1\nkind: NodeConfig\n/);
    },
  },
  ...(['agent', 'workflow'] as const).map(
    (kind): Row => ({
      ...{
        tool: 'svc.schema.get',
        what: `answers the schema of ${kind} manifests`,
        args: { key: `${kind}/manifest/v1` },
      },
      gives: ({ type, properties }) =>
        assert.deepEqual(
          [type, Object.keys(Object(properties)).slice(0, 3)],
          [...['object', ['apiVersion', 'kind', 'metadata']]],
        ),
    }),
  ),
  { tool: 'svc.schema.validate', what: 'says that an agent is good', args: agent, gives: has({ valid: true }) },
  { tool: 'svc.schema.validate', what: 'says that a workflow is good', args: workflow, gives: has({ valid: true }) },
  {
    ...{ tool: 'svc.schema.validate', what: 'says where a manifest is wrong' },
    args: (at) => ({ kind: 'agent', manifest_yaml: at.agentYaml('Not Fine') }),
    gives: firstProblem(/^metadata\.name$/),
  },
  {
    ...{ tool: 'svc.schema.validate', what: 'takes no manifest of another kind' },
    args: (at) => ({ ...agent(at), kind: 'workflow' }),
    gives: firstProblem(/^kind$/),
  },
  {
    ...{ tool: 'svc.schema.validate', what: 'says that a text is no manifest' },
    args: { kind: 'workflow', manifest_yaml: 'a: [' },
    gives: firstProblem(/^$/),
  },
  {
    ...{ tool: 'svc.runtime.list', what: 'lists all', args: {} },
    gives: ({ tool, runtimes, custom_runtime_supported }) => {
      assert.deepEqual([tool, typeof custom_runtime_supported], ['svc.runtime.list', 'boolean']);
      const [first] = listOf(runtimes);
      assert.deepEqual(Object.keys(first ?? {}), ['language', 'version', 'image', 'description', 'deprecated']);
      assert.ok(new Set(listOf(runtimes).map(({ language }) => language)).size > 1);
    },
  },
  {
    ...{ tool: 'svc.runtime.list', what: 'lists those of one language', args: { language: 'Python' } },
    gives: ({ runtimes }) =>
      assert.deepEqual([...new Set(listOf(runtimes).map(({ language }) => language))], ['python']),
  },
  {
    ...{ tool: 'svc.runtime.list', what: 'has none of an unknown language', args: { language: 'cobol' } },
    gives: has({ runtimes: [] }),
  },
];
