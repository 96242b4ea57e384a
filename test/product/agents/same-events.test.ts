import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Rule } from '../../support/node-config.ts';
import { NEEDS_PODMAN } from '../../support/podman.ts';
import { someOf } from '../../support/size.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { AgentNode, type Members, members } from './agent-node.ts';
import { type AgentCase, CASES } from './cases.ts';

/** The parts of a run that are equal under every isolation. */
interface Run {
  readonly status: Members;
  readonly events: readonly Members[];
  readonly audit: readonly Members[];
  readonly workspace: Members;
}

const AT_ONCE = 3;
/** Each of these takes a container. */
const CHOSEN = someOf(CASES, 9);

describe('isolation process and docker', NEEDS_PODMAN, () => {
  let setup: AgentNode;
  const runs = new Map<string, Promise<{ readonly process: Run; readonly docker: Run }>>();

  before(async () => {
    setup = await AgentNode.start({ rules: CHOSEN.flatMap(rulesOf) });
    // A few at a time, since they mostly wait.
    let turn = Promise.resolve();
    const turns = Array.from({ length: AT_ONCE }, () => turn);
    for (const [at, one] of CHOSEN.entries()) {
      const run = (turns[at % AT_ONCE] ?? turn).then(() => both(setup, one));
      runs.set(one.name, run);
      turn = run.then(
        () => {},
        () => {},
      );
      turns[at % AT_ONCE] = turn;
    }
  });
  after(() => setup?.[Symbol.asyncDispose]());

  for (const one of CHOSEN) {
    test(`${one.name}: the same events, result, files and audit`, async () => {
      const { process, docker } = (await runs.get(one.name)) ?? assert.fail(one.name);
      assert.equal(process.status.status, one.status ?? 'completed', JSON.stringify(process));
      if (one.shows !== undefined) assert.match(JSON.stringify(process.events), one.shows);
      assert.deepEqual(docker.events, process.events);
      assert.deepEqual(docker.status, process.status);
      assert.deepEqual(docker.audit, process.audit);
      assert.deepEqual(docker.workspace, process.workspace);
    });
  }
});

/** The rules of one agent match its input only. */
const rulesOf = ({ name, rules }: AgentCase): readonly Rule[] =>
  rules.map(({ match, reply }) => ({ match: { ...members(match), contains: `case ${name};` }, reply }));

async function both(setup: AgentNode, one: AgentCase): Promise<{ readonly process: Run; readonly docker: Run }> {
  const [process, docker] = await Promise.all((['process', 'docker'] as const).map((kind) => run(setup, one, kind)));
  if (process === undefined || docker === undefined) throw new Error('two runs make two results');
  return { process, docker };
}

async function run(setup: AgentNode, one: AgentCase, isolation: 'process' | 'docker'): Promise<Run> {
  const agent = await setup.deploy(`${one.name}-${isolation}`, {
    runtime: { isolation },
    execution: { max_iterations: 1 },
    ...one.spec,
  });
  const id = await setup.node.run(agent, `case ${one.name};`);
  if (one.cancelAt !== undefined) await cancelAt(setup, id, one.cancelAt);
  const status = await setup.ended(id);
  const told = (await setup.events(id)).map((event) => normalised(event, id, agent));
  const audited = one.spec?.tools !== undefined;
  return {
    status: normalised(status, id, agent),
    events: joined(told),
    audit: audited ? inOrder((await setup.audit(id)).map((record) => normalised(record, id, agent))) : [],
    workspace: await setup.workspace(id),
  };
}

async function cancelAt(setup: AgentNode, id: string, at: NonNullable<AgentCase['cancelAt']>): Promise<void> {
  await waitUntil(`${id} says ${at.output}`, async () => (await setup.said(id)).includes(at.output), 60_000);
  const { file } = at;
  if (file !== undefined) {
    await waitUntil(`${id} makes ${file}`, async () => `/${file}` in (await setup.workspace(id)), 60_000);
  }
  assert.equal((await setup.node.json('POST', `/v1/executions/${id}/cancel`, {})).status, 200);
}

/** Ids and times differ between any two runs. The id of a call names its request where a bootstrap asked. */
function normalised(value: Members, id: string, agent: string): Members {
  const text = JSON.stringify(value).replaceAll(id, 'EXECUTION').replaceAll(agent, 'AGENT');
  const timeless = text
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/"trace_id":"[0-9a-f]{32}"/g, '"trace_id":"TRACE"');
  return members(JSON.parse(timeless.replaceAll(/"call":"(\d+)\.[0-9a-f]{8}\./g, '"call":"$1.')));
}

/** Calls that only read may end in any order. */
const inOrder = (records: readonly Members[]): readonly Members[] =>
  records.toSorted((a, b) => placeOf(a).localeCompare(placeOf(b), 'en', { numeric: true }));

function placeOf({ kind, call }: Members): string {
  if (kind === 'opened') return '0';
  return kind === 'closed' ? '9999' : `${call} ${kind}`;
}

/** The cuts between pieces of text are random; the text is not. */
function joined(events: readonly Members[]): readonly Members[] {
  const all: Members[] = [];
  for (const event of events) {
    const said = members(event.iteration_output);
    const before = members(all.at(-1)?.iteration_output);
    if (said.output === undefined || before.output === undefined) all.push(event);
    else all.splice(-1, 1, { iteration_output: { ...said, output: `${before.output}${said.output}` } });
  }
  return all;
}
