import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { FleetPlacement, type OwnMemberInfo } from '../../cluster/placement/fleet-placement.ts';
import type { ActorStore } from '../../runtime/actor-store.ts';
import { systemClock } from '../../runtime/clock.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { PlacementChange } from '../../runtime/locator.ts';
import { systemRandom } from '../../runtime/random.ts';
import { waitUntil } from '../support/wait-until.ts';

/** Two connections to one store, as two processes would have; the same one where a store belongs to one process. */
interface FleetStores {
  readonly stores: readonly [ActorStore, ActorStore];
  /** An empty fleet for the next test. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

const card = (change: Partial<OwnMemberInfo> = {}): OwnMemberInfo => ({
  role: 'hybrid',
  tags: [],
  weight: 1,
  version: '1.2.3',
  startedAt: 1,
  pulse: null,
  clusterAddress: null,
  restUrl: null,
  ...change,
});

const codeIs =
  (code: string) =>
  (thrown: unknown): boolean =>
    thrown instanceof SvcError && thrown.code === code;

export function fleetPlacementContract(name: string, open: () => Promise<FleetStores>): void {
  describe(`placement on a fleet: ${name}`, () => {
    let fleetStores: FleetStores;
    before(async () => {
      fleetStores = await open();
      await fleetStores.stores[0].definePool('default', 64);
      await fleetStores.stores[0].definePool('system', 8);
    });
    after(() => fleetStores.close());

    /** Nodes use the two connections in turn. */
    let made = 0;
    const nodes: FleetPlacement[] = [];
    const nodeOf = (node: string, change: Partial<OwnMemberInfo> = {}, leaseTtlMs = 60_000): FleetPlacement => {
      const members = fleetStores.stores[made++ % 2 === 0 ? 0 : 1];
      const warn = (message: string, error: unknown): void => assert.fail(`${message} ${String(error)}`);
      const placement = new FleetPlacement({
        members,
        node,
        info: card(change),
        leaseTtlMs,
        clock: systemClock,
        random: systemRandom,
        warn,
      });
      nodes.push(placement);
      return placement;
    };
    const wanted = async (node: FleetPlacement): Promise<string[]> => [...(await node.assign()).wanted].sort();
    const poolsOf = (partitions: readonly string[]): string[] => [
      ...new Set(partitions.map((partition) => partition.slice(0, partition.lastIndexOf(':')))),
    ];
    const fleetTest = (title: string, run: () => Promise<void>): void => {
      test(title, async () => {
        await fleetStores.clear();
        await run();
        // A placement that is not stopped would read its members after its store has closed.
        for (const node of nodes.splice(0)) await node.leave();
      });
    };
    /** A subscription takes a moment on a server, so the signal is repeated until it is received. */
    const rings = async (hearer: FleetPlacement, act: () => Promise<void>): Promise<PlacementChange | undefined> => {
      let rung = 0;
      let heard: PlacementChange | undefined;
      const stop = hearer.onChange((change) => {
        rung += 1;
        heard = change;
      });
      await waitUntil('the node has read the change', async () => {
        if (rung === 0) await act();
        return rung > 0;
      });
      stop();
      return heard;
    };

    fleetTest('a node alone wants everything its role serves', async () => {
      const [hybrid] = [nodeOf('alone')];
      await hybrid.join();
      const { wanted: all, queues } = await hybrid.assign();
      assert.equal(all.size, 72);
      assert.deepEqual([...queues].sort(), ['default', 'system']);
    });

    fleetTest('members divide all partitions among them without overlap, each by its own look', async () => {
      const nodes = ['a', 'b', 'c'].map((node) => nodeOf(node));
      for (const node of nodes) await node.join();
      const shares = await Promise.all(nodes.map(wanted));
      assert.equal(new Set(shares.flat()).size, 72);
      assert.equal(shares.flat().length, 72);
      assert.ok(shares.every((share) => share.length >= 12));
    });

    fleetTest('controllers serve pool system, workers default and the pools their tags hold all of', async () => {
      await fleetStores.stores[0].definePool('+eu+gpu', 4);
      const controller = nodeOf('c', { role: 'controller', tags: ['eu', 'gpu'] });
      const plain = nodeOf('w1', { role: 'worker', tags: ['gpu'] });
      const tagged = nodeOf('w2', { role: 'worker', tags: ['gpu', 'eu', 'x'] });
      for (const node of [controller, plain, tagged]) await node.join();
      assert.deepEqual(poolsOf(await wanted(controller)), ['system']);
      assert.deepEqual(poolsOf(await wanted(plain)), ['default']);
      assert.deepEqual(poolsOf(await wanted(tagged)), ['+eu+gpu', 'default']);
      assert.deepEqual((await plain.assign()).queues, ['default']);
      assert.deepEqual((await tagged.assign()).queues, ['+eu+gpu', 'default']);
    });

    fleetTest('a node takes jobs of every pool it may serve, even with more nodes than partitions', async () => {
      await fleetStores.stores[0].definePool('+one', 1);
      const nodes = ['a', 'b', 'c'].map((node) => nodeOf(node, { tags: ['one'] }));
      for (const node of nodes) await node.join();
      const answers = await Promise.all(nodes.map((node) => node.assign()));
      assert.equal(answers.filter(({ wanted: all }) => all.has('+one:0')).length, 1);
      assert.ok(answers.every(({ queues }) => queues.includes('+one')));
    });

    fleetTest('an unchanged fleet is not computed again', async () => {
      const node = nodeOf('same');
      await node.join();
      assert.equal(await node.assign(), await node.assign());
    });

    fleetTest('a draining node takes no partitions and jobs; others are notified and take its share', async () => {
      const [leaving, staying] = [nodeOf('leaving'), nodeOf('staying')];
      await leaving.join();
      await staying.join();
      await staying.assign();
      await rings(staying, () => leaving.drain());
      assert.deepEqual(await leaving.assign(), { wanted: new Set(), queues: [] });
      assert.equal((await wanted(staying)).length, 72);
      assert.equal(staying.isLive('leaving'), true);
    });

    fleetTest('tags that change at run time change the pools of a node at once', async () => {
      await fleetStores.stores[0].definePool('+fast', 4);
      const [node, other] = [nodeOf('n'), nodeOf('o')];
      await node.join();
      await other.join();
      await other.assign();
      assert.equal(await other.isServed('+fast'), false);
      await rings(other, () => node.setTags(['fast']));
      assert.equal(await other.isServed('+fast'), true);
      assert.ok((await node.assign()).queues.includes('+fast'));
    });

    fleetTest('a node that changed its own tags reads the members again, once', async () => {
      const node = nodeOf('self');
      await node.join();
      let rung = 0;
      node.onChange(() => {
        rung += 1;
      });
      await node.setTags(['a']);
      await node.setTags(['a', 'b']);
      // Signals keep their order: once this signal is back, the node's own signals are as well.
      let back = false;
      const [store] = fleetStores.stores;
      const deafen = store.onSignal('self', (word) => {
        back ||= word === 'marker';
      });
      await waitUntil('a later signal', async () => {
        await store.signal('self', 'marker');
        return back && rung > 0;
      });
      deafen();
      assert.ok(rung <= 2, `${rung} signals for two changes: a node must not react to its own`);
    });

    fleetTest('joins, leaves and partitions given back are heard by the others', async () => {
      const [one, two] = [nodeOf('one'), nodeOf('two')];
      await one.join();
      assert.equal(await rings(one, () => two.join()), 'members');
      assert.equal(await rings(one, () => two.freed()), 'freed');
      await rings(one, () => two.poolDefined());
      await one.assign();
      assert.equal(one.isLive('two'), true);
      await rings(one, async () => {
        await two.join();
        await two.leave();
      });
      await one.assign();
      assert.equal(one.isLive('two'), false);
    });

    fleetTest('words of others and of later versions are ignored', async () => {
      const node = nodeOf('deaf');
      await node.join();
      let rung = 0;
      const stop = node.onChange(() => {
        rung += 1;
      });
      const heard: string[] = [];
      const [store, other] = fleetStores.stores;
      const deafen = store.onSignal('deaf', (word) => heard.push(word));
      // The signal that a node of an earlier test has left may arrive late.
      await waitUntil('the earlier signals to arrive', async () => {
        await other.signal('deaf', 'first');
        return heard.includes('first');
      });
      rung = 0;
      const words = ['no json', '{}', '{"fleet":"exploded","by":"x"}', '{"fleet":"joined"}', 'null'];
      await waitUntil('all signals to arrive', async () => {
        for (const word of words) await other.signal('deaf', word);
        return words.every((word) => heard.includes(word));
      });
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(rung, 0);
      stop();
      deafen();
    });

    fleetTest('a member whose lease ran out is not live and its partitions go to the others', async () => {
      const [short, long] = [nodeOf('short', {}, 50), nodeOf('long')];
      await short.join();
      await long.join();
      await waitUntil('the lease runs out', async () => (await wanted(long)).length === 72);
      assert.equal(long.isLive('short'), false);
      assert.equal(long.isLive(`short/${short.incarnation}`), false);
      assert.equal(long.isLive(`long/${long.incarnation}`), true);
      assert.equal(long.isLive(`long/${randomUUID()}`), false);
    });

    fleetTest('a life that was declared dead loses its node lease, is notified, and may join again', async () => {
      const [victim, peer] = [nodeOf('victim'), nodeOf('peer')];
      await victim.join();
      await peer.join();
      await peer.assign();
      await peer.declareDead('victim', randomUUID());
      await victim.assign();
      await rings(victim, async () => {
        await victim.join();
        await peer.declareDead('victim', victim.incarnation);
      });
      await assert.rejects(victim.assign(), codeIs('lease_lost'));
      await peer.assign();
      assert.equal(peer.isLive('victim'), false);
      await victim.join();
      assert.equal((await wanted(victim)).length > 0, true);
    });

    fleetTest('two processes with one node id: the earlier one gets a notification that another runs', async () => {
      const [earlier, later] = [nodeOf('twin'), nodeOf('twin')];
      await earlier.join();
      await earlier.assign();
      await later.join();
      await assert.rejects(earlier.assign(), codeIs('conflict'));
      assert.equal((await wanted(later)).length, 72);
      assert.equal(later.isLive(`twin/${earlier.incarnation}`), false);
    });

    fleetTest('the earlier life of a node comes back with a store that went back: its node joins again', async () => {
      const [members] = fleetStores.stores;
      const earlier = { node: 'anna', incarnation: randomUUID(), card: JSON.stringify({ ...card(), draining: false }) };
      await members.announce(earlier, 60_000, true);
      const later = nodeOf('anna');
      await later.join();
      await later.assign();
      await members.announce(earlier, 60_000, true);
      await assert.rejects(later.assign(), codeIs('lease_lost'));
      await later.join();
      assert.equal((await later.assign()).wanted.size, 72);
    });

    fleetTest('before its first read of the members a node takes no node for dead', async () => {
      assert.equal(nodeOf('new').isLive('unknown'), true);
    });

    fleetTest('whether a pool is served is looked at anew before the answer is no', async () => {
      const [asker, late] = [nodeOf('asker'), nodeOf('late', { tags: ['rare'] })];
      await asker.join();
      await asker.assign();
      assert.equal(await asker.isServed('+rare'), false);
      await late.join();
      assert.deepEqual(await Promise.all([1, 2, 3].map(() => asker.isServed('+rare'))), [true, true, true]);
      await late.drain();
      await asker.assign();
      assert.equal(await asker.isServed('+rare'), false);
    });

    fleetTest('a node that joined since the last look is not gone; one that left is', async () => {
      const [asker, late] = [nodeOf('asker'), nodeOf('late')];
      await asker.join();
      await asker.assign();
      await late.join();
      assert.equal(asker.isLive('late'), false, 'the last look was before');
      assert.equal(await asker.isGone('late'), false);
      assert.equal(await asker.isGone(`late/${late.incarnation}`), false);
      assert.equal(await asker.isGone(`late/${randomUUID()}`), true);
      await late.leave();
      await asker.assign();
      assert.equal(await asker.isGone('late'), true);
    });

    fleetTest('every node computes the same owner of a partition; none where no node may hold it', async () => {
      await fleetStores.stores[0].definePool('+absent', 2);
      const nodes = ['a', 'b'].map((node) => nodeOf(node));
      for (const node of nodes) await node.join();
      for (const [at, node] of nodes.entries()) {
        const { wanted: own } = await node.assign();
        for (const partition of own) {
          for (const asked of nodes) assert.equal(await asked.holderOf(partition), ['a', 'b'][at]);
          break;
        }
        assert.equal(await node.holderOf('+absent:0'), null);
        assert.equal(await node.holderOf('unknown:0'), null);
      }
    });

    fleetTest('operators see members with their share, and what a pool without members waits for', async () => {
      await fleetStores.stores[0].definePool('+gpu+zone:eu', 4);
      const [one, two] = [nodeOf('one', { role: 'controller' }), nodeOf('two', { role: 'worker' })];
      await one.join();
      await two.join();
      const { members, pools } = await one.view();
      assert.deepEqual(
        members.map(({ node_id, partitions }) => ({ node_id, partitions })),
        [
          { node_id: 'one', partitions: { system: 8 } },
          { node_id: 'two', partitions: { default: 64 } },
        ],
      );
      assert.equal(members[1]?.info?.version, '1.2.3');
      const waiting = pools.find(({ pool }) => pool === '+gpu+zone:eu');
      assert.deepEqual(waiting?.waiting_for, {
        tags: ['gpu', 'zone:eu'],
        reason: 'waiting for a node with tags gpu, zone:eu',
      });
      assert.equal(waiting?.served, 0);
      assert.equal(pools.find(({ pool }) => pool === 'default')?.served, 64);
    });

    fleetTest('a member that says what this version cannot read serves nothing, and is shown', async () => {
      const [store] = fleetStores.stores;
      await store.announce({ node: 'odd', incarnation: randomUUID(), card: '{"role":"oracle"}' }, 60_000, true);
      await store.announce({ node: 'odder', incarnation: randomUUID(), card: 'not JSON' }, 60_000, true);
      const node = nodeOf('n');
      await node.join();
      assert.equal((await wanted(node)).length, 72);
      const { members } = await node.view();
      assert.deepEqual(
        members.map(({ node_id, info: said }) => [node_id, said === null]),
        [
          ['n', false],
          ['odd', true],
          ['odder', true],
        ],
      );
    });

    fleetTest('watchers of the members are notified of each change once', async () => {
      const [one, two] = [nodeOf('one'), nodeOf('two')];
      await one.join();
      const seen: string[][] = [];
      one.onMembers((members) => seen.push(members.map(({ node }) => node)));
      await one.assign();
      await one.assign();
      await two.join();
      await one.assign();
      assert.deepEqual(seen, [['one'], ['one', 'two']]);
    });
  });
}
