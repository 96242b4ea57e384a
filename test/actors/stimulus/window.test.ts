import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { addressOf } from '../../../runtime/address.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { duplicateOf } from '../../../usecases/stimuli.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { AREA_KERNELS } from '../../transport/rest/area-kernel.ts';
import { stimulusNode } from './stimulus-node.ts';

const identity: Identity = { kind: 'tenant_user', subject: 'a', tenant: 'alice', roles: [], tier: 'free' };
const address = addressOf('stimulus', 'alice', 'c'.repeat(64));

for (const { name, missing, start } of AREA_KERNELS) {
  describe(`the window of a stimulus, ${name}`, { skip: missing ?? false }, () => {
    let node: Awaited<ReturnType<typeof stimulusNode>>;
    before(async () => {
      node = await stimulusNode({ start });
    });
    after(() => node.stop());

    test('after the window the actor leaves the store, its list entry stays and the key is free', async () => {
      const { client } = node.kernel.runtime;
      const routing = { kind: 'direct', workflow: 'deploy' };
      const delivery = { source: 'mail', content: 'x', headers: {}, routing };
      const receive = (window_ms: number) => client.ask(address, 'Receive', { ...delivery, window_ms }, { identity });
      const { stimulus_id: first } = Object(await receive(1_000));
      await assert.rejects(receive(60_000), (thrown) => duplicateOf(thrown)?.original_stimulus_id === first);
      await waitUntil('the actor leaves', async () => (await client.read(address)) === null);
      assert.equal((await node.stimuli.get('alice', first)).status, 'routed');
      const { stimulus_id: second } = Object(await receive(60_000));
      assert.notEqual(second, first);
      await waitUntil('both have run', () => node.started.length === 2);
      await waitUntil('both are listed', async () => {
        const listed = (await node.stimuli.list('alice', { limit: 10, skip: 0 })).items;
        return listed.length === 2 && listed.every(({ status }) => status === 'routed');
      });
    });
  });
}
