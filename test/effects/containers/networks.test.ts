import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { ContainerNetworks } from '../../../effects/containers/networks.ts';
import { ConnectionGate } from '../../../transport/connection-gate.ts';
import { NEEDS_PODMAN } from '../../support/podman.ts';
import { LIMITS, type PodmanUnderTest, podmanUnderTest, sh } from '../../support/podman-containers.ts';

const never = new AbortController().signal;

describe('networks of containers', { ...NEEDS_PODMAN, timeout: 300_000 }, () => {
  let setup: PodmanUnderTest;
  before(async () => {
    setup = await podmanUnderTest();
  });
  after(() => setup?.[Symbol.asyncDispose]());

  test('a container with a network reaches no listener of its node, on any address', async () => {
    const networks = new ContainerNetworks({ onLoopback: false });
    const gate = new ConnectionGate(100, [], networks.has);
    const seen: string[] = [];
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      seen.push(socket.remoteAddress ?? '');
      if (gate.enter(socket)) socket.end('the figures of the node\n');
    });
    await new Promise<void>((done) => server.listen(0, '0.0.0.0', done));
    const address = server.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const own = Object.values(networkInterfaces()).flatMap((all) =>
      (all ?? []).filter(({ family }) => family === 'IPv4'),
    );
    const places = ['$(ip route | sed -n "s/default via \\([0-9.]*\\).*/\\1/p")', ...own.map((one) => one.address)];
    const script = places.map((place) => `nc -w 2 ${place} ${port} </dev/null`).join('; ');
    const limits = { ...LIMITS, networkMode: 'bridge' };
    try {
      const open = await setup.runOn({ limits }, sh(script));
      assert.match(open.stdout, /figures/, `without it the attempt succeeds: ${open.stderr}`);
      seen.length = 0;
      const closed = await setup.runOn({ limits, networks }, sh(script));
      assert.equal(closed.stdout, '');
      assert.ok(seen.length > 0 && seen.every(networks.has), seen.join());
      assert.equal(networks.has('127.0.0.1'), false);
    } finally {
      server.close();
    }
  });

  test('a network that contains the node itself is refused, and one whose addresses are unknown', async () => {
    const { engine } = setup.parts;
    const among = new ContainerNetworks({ onLoopback: true, own: () => ['10.88.0.1', '10.88.3.4'] });
    await assert.rejects(among.learn(engine, 'bridge', never), {
      code: 'unsupported_isolation',
      message: /with the network bridge: this node is itself in that network, as 10\.88\.3\.4/,
    });
    const public_ = new ContainerNetworks({ onLoopback: false });
    const limits = { ...LIMITS, networkMode: 'not-there' };
    await assert.rejects(setup.runOn({ limits, networks: public_ }, sh('true')), {
      code: 'unsupported_isolation',
      message: /the engine reports no addresses/,
    });
  });
});
