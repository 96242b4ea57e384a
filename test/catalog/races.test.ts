import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAgentCatalog } from '../../catalog/agent-catalog.ts';
import { type AgentCatalog, requireStartable } from '../../catalog/api.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { Documents } from '../../runtime/documents.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { systemRandom } from '../../runtime/random.ts';
import { SeededRandom } from '../kill/random.ts';
import { sample } from '../support/size.ts';
import { DOCUMENT_STORES } from './document-stores.ts';
import { assertLogged, assertSequential, type RaceClient, race } from './race-clients.ts';
import type { RaceAnswer, RaceCall } from './race-model.ts';

const yaml = (name: string, version: string, text = 'x') => `apiVersion: svc.dev/v1
kind: Agent
metadata: {name: ${name}, version: "${version}"}
spec: {task: {instruction: ${text}}}
`;

const operator = (subject: string): Identity => ({
  ...{ kind: 'operator', subject, tenant: 'acme' },
  ...{ roles: ['svc:operator'], tier: 'enterprise' },
});

/** When each last began. */
type Runs = Map<string, number>;
const RUN_MS = 20;

/** Each event makes FerretDB's next look slower, and the check of a history grows faster than the history. */
const SIZE = sample({
  normal: { SQLite: [1, 2], FerretDB: [1], callsEach: 16 },
  long: { SQLite: [1, 2, 3], FerretDB: [1, 2, 3], callsEach: 40 },
});
/** Calls over all seeds and stores: in a single run all calls of a kind may happen to be refused. */
const done = new Map<RaceCall['kind'], number>();
let events = 0;
let histories = 0;

/** Another catalog over the store, as another node has one. */
async function openDoor(documents: Documents, subject: string, ran: Runs): Promise<RaceClient> {
  const inUse = {
    agent: (_tenant: string, id: string) =>
      Promise.resolve(performance.now() - (ran.get(id) ?? -RUN_MS) < RUN_MS ? 1 : 0),
  };
  const catalog = await createAgentCatalog({ documents, clock: systemClock, random: systemRandom, inUse });
  const identity = operator(subject);
  return {
    subject,
    ask: (name, call) => answered(() => ask(catalog, identity, { name, call, ran })),
    log: async (id) => {
      try {
        return (await catalog.logs(identity, id, { limit: 1_000, offset: 0 })).events;
      } catch (thrown) {
        if (thrown instanceof SvcError && thrown.code === 'not_found') return [];
        throw thrown;
      }
    },
  };
}

async function ask(
  catalog: AgentCatalog,
  identity: Identity,
  { name, call, ran }: { readonly name: string; readonly call: RaceCall; readonly ran: Runs },
): Promise<RaceAnswer> {
  switch (call.kind) {
    case 'deploy': {
      const { agent_id: id } = await catalog.deploy(identity, yaml(name, call.version), {
        force: false,
        scope: call.scope,
      });
      return { kind: 'done', id };
    }
    case 'delete':
      await catalog.delete(identity, call.id);
      break;
    case 'status':
      await catalog.setStatus(identity, call.id, call.status);
      break;
    case 'run':
      requireStartable(await catalog.get(identity, call.id));
      ran.set(call.id, performance.now());
      break;
    case 'move':
      if (call.up) await catalog.promote(identity, call.id, call.to === 'tenant' ? 'tenant' : 'global');
      else await catalog.demote(identity, call.id, call.to === 'tenant' ? 'tenant' : 'user', call.owner);
      break;
    case 'look': {
      const { agent_id: id, version, scope, status } = await catalog.lookup(identity, name);
      return { kind: 'seen', seen: { id, version, scope, status } };
    }
  }
  return { kind: 'done' };
}

async function answered(act: () => Promise<RaceAnswer>): Promise<RaceAnswer> {
  try {
    return await act();
  } catch (thrown) {
    assert.ok(thrown instanceof SvcError, String(thrown));
    if (thrown.code === 'not_found') return { kind: 'unknown' };
    assert.ok(thrown.code === 'conflict' || thrown.code === 'failed_precondition', `${thrown.code}: ${thrown.message}`);
    return { kind: 'refused' };
  }
}

for (const store of DOCUMENT_STORES)
  describe(`races over several catalogs on ${store.name}`, { skip: store.skip }, () => {
    let documents: Documents;
    let stop: () => Promise<void>;
    before(async () => {
      ({ documents, stop } = await store.open());
    });
    after(() => stop());

    it('lets one of 50 creates of a name and version win', async () => {
      const clients = await Promise.all(
        ['a', 'b', 'c', 'd', 'e'].map((subject) => openDoor(documents, subject, new Map())),
      );
      const call = { kind: 'deploy', scope: 'tenant', version: '1.0.0' } as const;
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => clients)
          .flat()
          .map((client) => client.ask('contested', call)),
      );
      assert.deepEqual(
        [answers.length, answers.filter(({ kind }) => kind === 'done').length],
        [50, 1],
        JSON.stringify(answers),
      );
    });

    for (const seed of SIZE[store.name])
      it(`equals a sequential catalog after 8 clients did anything to it, moves between tenants included (seed ${seed})`, async () => {
        const ran = new Map<string, number>();
        const subjects = ['ada', 'ben', 'ada', 'ben', 'cyn', 'ada', 'ben', 'cyn'];
        const clients = await Promise.all(subjects.map((subject) => openDoor(documents, subject, ran)));
        const names = [`flip-${seed}`, `flop-${seed}`];
        const history = await race({ clients, names, callsEach: SIZE.callsEach, random: new SeededRandom(seed) });
        assertSequential(history);
        events += await assertLogged(history, clients);
        histories += 1;
        for (const { call, answer } of history)
          if (answer.kind === 'done') done.set(call.kind, (done.get(call.kind) ?? 0) + 1);
      });
  });

it('did every kind of call at least once in these races', () => {
  for (const kind of ['deploy', 'delete', 'move', 'status', 'run'] as const)
    assert.ok((done.get(kind) ?? 0) > 0, `no ${kind} was ever done`);
  assert.ok(histories > 0 && events > 30 * histories, `${events} events in ${histories} histories`);
});
