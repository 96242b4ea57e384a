import type { AttackedNode } from './attacked-node.ts';
import { type Attack, sendBody } from './cases.ts';

const AGENT = 'apiVersion: svc.dev/v1\nkind: Agent\nmetadata: { name: costly, version: "1.0.0", description: x }\n';
const AGENT_SPEC = `${AGENT}spec:\n  task: { prompt_template: "{{input}}" }\n`;
const WORKFLOW = 'apiVersion: svc.dev/v1\nkind: Workflow\nmetadata: { name: costly, version: "1.0.0" }\n';
const STATES = 200;
const ONE_BYTE_LESS = 1024 * 1024 - 1;

const repeated = (count: number, one: (at: number) => string, between = ''): string =>
  Array.from({ length: count }, (_none, at) => one(at)).join(between);

/** A valid workflow of the maximum length: each state has fifty references. */
function longWorkflow(): string {
  const reads = repeated(50, (at) => `{{blackboard.a${at}}}`);
  const state = (at: number): string => {
    const next = at === STATES - 1 ? '' : `{ condition: always, target: s${at + 1} }`;
    return `    s${at}: { kind: System, command: update_blackboard, env: { x: "${reads}" }, transitions: [${next}] }\n`;
  };
  return `${WORKFLOW}spec:\n  initial_state: s0\n  states:\n${repeated(STATES, state)}`;
}

/** Manifests of the maximum size, of the kinds that cost a parser most. */
const COSTLY_YAML: readonly { readonly name: string; readonly kind: 'agent' | 'workflow'; text(): string }[] = [
  {
    name: 'a right one with 9,000 comments',
    kind: 'agent',
    text: () => AGENT_SPEC + repeated(9_000, () => `# ${'c'.repeat(99)}\n`),
  },
  { name: 'a list', kind: 'agent', text: () => `${AGENT_SPEC}  x: [${repeated(45_000, () => '1', ',')}]\n` },
  { name: 'names', kind: 'agent', text: () => `${AGENT_SPEC}  x:\n${repeated(17_000, (at) => `    k${at}: 1\n`)}` },
  { name: 'empty lines', kind: 'agent', text: () => `${AGENT_SPEC}${'\n'.repeat(90_000)}` },
  {
    name: 'a plain text of many lines',
    kind: 'agent',
    text: () => `${AGENT_SPEC}  x: ${repeated(90_000, () => 'a', '\n    ')}\n`,
  },
  { name: 'one text', kind: 'agent', text: () => `${AGENT_SPEC}  x: "`.padEnd(ONE_BYTE_LESS - 2, 'x').concat('"\n') },
  { name: 'a right one with 200 states', kind: 'workflow', text: longWorkflow },
];

const PATHS = {
  agent: ['/v1/agents?force=true', '/v1/agents/validate'],
  workflow: ['/v1/workflows?force=true', '/v1/workflows/validate'],
};

/** Each costly manifest to each route that takes it, as YAML; once in JSON; and a start of what was deployed. */
export function manifestAttacks(node: AttackedNode): Attack[] {
  const yaml = COSTLY_YAML.flatMap(({ name, kind, text }) =>
    PATHS[kind].map((path): Attack => {
      const body = text();
      return {
        name: `POST ${path} manifest: ${name}, ${Math.round(body.length / 1024)} KiB`,
        send: () => sendBody(node.url + path, 'POST', body, { 'content-type': 'application/yaml' }),
      };
    }),
  );
  const json = JSON.stringify({ manifest_yaml: longWorkflow(), force: true });
  return [
    ...yaml,
    { name: 'POST /v1/workflows manifest in JSON', send: () => sendBody(`${node.url}/v1/workflows`, 'POST', json) },
    {
      name: 'POST /v1/workflows/{name}/run of the long workflow',
      send: () => sendBody(`${node.url}/v1/workflows/costly/run`, 'POST', '{}'),
    },
  ];
}
