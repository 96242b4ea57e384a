import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportText } from '../chaos/report.ts';
import { DOCKER, PROCESS, smallTools, toolsUnderKills } from '../chaos/tools-under-kills.ts';
import { NEEDS_PODMAN } from '../support/podman.ts';
import { sample as sized, someOf } from '../support/size.ts';
import { seedOf } from './random.ts';
import { type StoreKind, storesMissing } from './stores.ts';

interface Sample {
  readonly store: StoreKind;
  readonly agents: readonly string[];
  readonly skip?: string;
}

const redisMissing = storesMissing('redis');
const noRedis = redisMissing === false ? {} : { skip: redisMissing };
const SAMPLES: Readonly<Record<string, Sample>> = {
  'on one SQLite file, its loop in the node, in a program, with an MCP server': {
    store: 'sqlite',
    // The inner loop of the agent with an MCP server runs in the node, too.
    agents: sized({ normal: PROCESS.filter((name) => name !== 'in-node'), long: PROCESS }),
  },
  'on Redis, in the node and in a container': {
    store: 'redis',
    agents: ['in-node', ...DOCKER],
    ...NEEDS_PODMAN,
    ...noRedis,
  },
};

for (const [where, { skip, ...sample }] of someOf(Object.entries(SAMPLES), 2)) {
  test(`an agent of ten tool calls whose node is killed at any moment (${where}) ends as without kills: no call of mode once repeats, one in doubt is listed, its audit chain is valid`, {
    ...(skip === undefined ? {} : { skip }),
    timeout: 900_000,
  }, async (context) => {
    const report = await toolsUnderKills(smallTools(seedOf(process.env), sample));
    context.diagnostic(reportText(report));
    assert.deepEqual(report.broken, []);
  });
}
