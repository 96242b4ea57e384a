import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { Address } from '../../../runtime/address.ts';
import { SvcError } from '../../../runtime/errors.ts';
import type { Json } from '../../../runtime/json.ts';
import { systemRandom } from '../../../runtime/random.ts';
import type { NodePeerApi } from '../../../usecases/node-api.ts';
import { createNodePeerApi } from '../../../usecases/nodes.ts';
import { beatOf, NOTHING, nodeKey, OPERATOR } from './controller.ts';

const word = { node_id: 'w1', revision: 7, entry: null };

/** A client whose answers the test chooses: on a store with an outbox, a peer's own update of the fleet may be slow. */
function scripted(answer: (to: Address, type: string) => Promise<Json>) {
  const asked: string[] = [];
  const peers = createNodePeerApi({
    client: {
      ask(to, type) {
        asked.push(`${to} ${type}`);
        return answer(to, type);
      },
      read: async () => null,
    },
    random: systemRandom,
    randomBytes,
  });
  return { peers, asked };
}

const register = (peers: NodePeerApi) =>
  peers.register('w1', {
    role: 'WORKER',
    capabilities: NOTHING,
    grpcAddress: 'w1:50056',
    publicKeyPem: nodeKey().pem,
  });

const calls: readonly (readonly [string, (peers: NodePeerApi) => Promise<unknown>])[] = [
  ['Register', register],
  ['Heartbeat', (peers) => peers.heartbeat('w1', beatOf('p'))],
  ['Deregister', (peers) => peers.deregister('w1', 'x')],
  ['Drain', (peers) => peers.drain('w1', OPERATOR)],
  ['Remove', (peers) => peers.remove('w1', OPERATOR)],
];

for (const [type, call] of calls) {
  test(`${type} is answered only after the fleet has recorded it`, async () => {
    let heard = (): void => assert.fail('the fleet was not asked');
    const fleet = new Promise<Json>((resolve) => {
      heard = () => resolve(null);
    });
    const { peers, asked } = scripted(async (_, asking) =>
      asking === 'Hear' ? fleet : { peer_id: 'p', commands: [], accepted: true, word },
    );
    let isAnswered = false;
    const answer = call(peers).then(() => {
      isAnswered = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(asked, [`node-peer/svc-system/w1 ${type}`, 'fleet/svc-system/fleet Hear']);
    assert.equal(isAnswered, false);
    heard();
    await answer;
  });
}

test('a node that the full fleet refuses is deregistered again and gets the reason', async () => {
  const { peers, asked } = scripted(async (_, type): Promise<Json> => {
    if (type === 'Register') return { peer_id: 'p', word: { ...word, revision: 6 } };
    if (type === 'Deregister') return { accepted: true, word: null };
    throw new SvcError('failed_precondition', 'the fleet has 10000 registered nodes, the maximum; remove one first');
  });
  await assert.rejects(register(peers), { code: 'failed_precondition', message: /10000 registered nodes/ });
  assert.equal(asked.at(-1), 'node-peer/svc-system/w1 Deregister');
});

test('a node that comes back while its old actor is removed gets an error to try again', async () => {
  const { peers } = scripted(async () => {
    throw new SvcError('failed_precondition', 'node-peer has ended');
  });
  await assert.rejects(register(peers), { code: 'unavailable' });
});
