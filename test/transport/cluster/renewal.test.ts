import assert from 'node:assert/strict';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect } from 'node:tls';
import type { ChannelCredentials } from '@grpc/grpc-js';
import { clusterCredentials, openClusterCertificate } from '../../../cluster/registration/channel.ts';
import { createControllerToken } from '../../../cluster/registration/registration.ts';
import { type ClusterCalls, createClusterCalls } from '../../../cluster/registration/routing-client.ts';
import { systemClock } from '../../../runtime/clock.ts';
import type { CertificateFiles } from '../../../security/certificate-files.ts';
import { OPERATOR } from '../../actors/node-peer/controller.ts';
import { newNodeKey, RegisteredNode } from '../../cluster/registered-node.ts';
import { type Certificate, certificateIn } from '../../support/certificates.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { IndependentWorker } from './independent-worker.ts';
import { type FleetNode, fleetNode } from './node.ts';
import { PageClient } from './page.ts';

/** The files are checked each 100 ms instead of each 5 s. */
const quick = { ...systemClock, after: (ms: number, call: () => void) => systemClock.after(ms / 50, call) };

const UNUSABLE = 'the new certificate cannot be used; the previous one stays in use';

describe('credentials of nodes are renewed while nodes call one another', { timeout: 300_000 }, () => {
  let directory = '';
  let first: Certificate;
  let second: Certificate;
  let at: FleetNode;
  let credentials: ChannelCredentials;
  let calls: ClusterCalls;
  const lines: string[] = [];
  const open: CertificateFiles[] = [];
  const live = (name: string): string => join(directory, `live.${name}`);
  const put = async (file: string, paths: readonly string[]): Promise<void> => {
    await writeFile(file, Buffer.concat(await Promise.all(paths.map((path) => readFile(path)))));
  };
  const inForce = (): number => lines.filter((line) => line === 'a new certificate is in force').length;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-renewal-'));
    [first, second] = await Promise.all([certificateIn(directory, 'first'), certificateIn(directory, 'second')]);
    await Promise.all([
      put(live('ca'), [first.ca_cert]),
      copyFile(first.cert_path, live('crt')),
      copyFile(first.key_path, live('key')),
    ]);
    const settings = { enabled: true, cert_path: live('crt'), key_path: live('key'), ca_cert: live('ca') };
    const say = (_line: object, message: string): void => void lines.push(message);
    for (const _side of ['server', 'client']) {
      const certificate = await openClusterCertificate(settings, { clock: quick, log: { info: say, warn: say } });
      assert.ok(certificate !== null);
      open.push(certificate);
    }
    const [server, client] = open;
    assert.ok(server !== undefined && client !== undefined);
    at = await fleetNode({
      tls: { certificate: server, minVersion: 'TLSv1.2' },
      requireProof: true,
      requireJoinToken: true,
    });
    credentials = clusterCredentials(client);
    const key = newNodeKey();
    const { publicKeyPem } = key;
    calls = createClusterCalls({
      ...{ credentials, privateKey: key.privateKey },
      nodeToken: createControllerToken({
        tokens: at.tokens,
        nodeId: 'ctl',
        publicKeyPem,
        clock: systemClock,
      }),
      // New connections all the time, so that every certificate is used.
      idleMs: 20,
    });
  });
  after(async () => {
    calls.close();
    await at[Symbol.asyncDispose]();
    for (const one of open) one.close();
    await rm(directory, { recursive: true });
  });

  /** Calls of a controller and a worker without a pause, until `change` has ended. What failed, and how many there were until then. */
  const underLoad = async (
    change: (someCalls: () => Promise<void>) => Promise<void>,
  ): Promise<{ readonly failed: string[]; readonly made: number }> => {
    const failed: string[] = [];
    let made = 0;
    let over = false;
    const config = 'spec: {}';
    const push = async (): Promise<void> => {
      while (!over) {
        made += 1;
        const to = { nodeId: 'node-1', grpcAddress: at.address };
        await calls.pushConfig(to, config).catch((error: unknown) => failed.push(String(error)));
        if (made % 20 === 0) await new Promise((resume) => setTimeout(resume, 30));
      }
    };
    const { token } = await at.joinTokens.create(OPERATOR, { tags: ['gpu'], addresses: ['10.0.0.0/8'] });
    await using worker = new RegisteredNode([at.address], {
      ...{
        nodeId: `w-${lines.length}-${Date.now()}`,
        credentials,
        joinToken: async () => token,
        heartbeatIntervalMs: 5,
      },
    });
    await waitUntil('a heartbeat', () => worker.registration.state().phase === 'registered');
    const pushing = [push(), push()];
    /** Calls for 300 ms, which are few on a busy machine. */
    const someCalls = async (): Promise<void> => {
      const before = made;
      await new Promise((resume) => setTimeout(resume, 300));
      await waitUntil('some calls', () => made >= before + 10);
    };
    await change(someCalls);
    const during = made;
    await waitUntil('some calls after it', () => made >= during + 20);
    over = true;
    await Promise.all(pushing);
    failed.push(...worker.lines.filter(({ level }) => level !== 'info').map(({ text }) => text));
    return { failed, made: during };
  };

  /** The certificate that the port shows to a client with `by`, or the error of the refusal. */
  const shown = async (by: Certificate): Promise<string> => {
    const [ca, cert, key] = await Promise.all([by.ca_cert, by.cert_path, by.key_path].map((path) => readFile(path)));
    const [host = '', port = ''] = at.address.split(':');
    return new Promise((resolve) => {
      const options = {
        host,
        port: Number(port),
        ALPNProtocols: ['h2'],
        ...(ca && cert && key ? { ca, cert, key } : {}),
      };
      const socket = connect(options, () => {
        const { CN } = socket.getPeerCertificate().subject;
        // A refused client certificate ends the connection after the handshake.
        socket.once('data', () => resolve(String(CN)));
      });
      socket.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
      socket.once('close', () => resolve('closed'));
    });
  };

  test('certificates and their authority: 0 failed calls', async () => {
    assert.equal(await shown(first), 'first');
    const { failed, made } = await underLoad(async (someCalls) => {
      const renewed = async (change: () => Promise<void>): Promise<void> => {
        const before = inForce();
        await change();
        await waitUntil('both sides to have it', () => inForce() >= before + 2);
        await someCalls();
      };
      await renewed(() => put(live('ca'), [first.ca_cert, second.ca_cert]));
      await renewed(async () => {
        // An incomplete replacement is noticed too, and has no effect.
        await copyFile(second.key_path, live('key'));
        await waitUntil('a side to notice it', () => lines.includes(UNUSABLE));
        await copyFile(second.cert_path, live('crt'));
      });
      await renewed(() => put(live('ca'), [second.ca_cert]));
    });
    assert.deepEqual(failed, []);
    assert.ok(made > 20, `${made} calls`);
    assert.equal(await shown(second), 'second');
    assert.notEqual(await shown(first), 'first');
  });

  test('signing keys of node tokens: 0 failed calls', async () => {
    const { failed, made } = await underLoad(async (someCalls) => {
      for (const _ of [1, 2, 3]) {
        await at.keys.rotate();
        await someCalls();
      }
    });
    assert.deepEqual(failed, []);
    assert.ok(made > 20, `${made} calls`);
  });

  test('join tokens, while nodes are attested with the old and the new one: 0 failed calls', async () => {
    const client = new PageClient(at.address, credentials);
    const token = async (): Promise<Readonly<Record<string, string>>> => {
      const made = await at.joinTokens.create(OPERATOR, { uses: 100 });
      ids.push(made.id);
      return { 'svc-join-token': made.token };
    };
    const ids: string[] = [];
    let shownToken = await token();
    const before = new IndependentWorker('before', client);
    const itsToken = shownToken;
    await before.prove({}, itsToken);
    const { failed } = await underLoad(async () => {
      for (const round of [1, 2, 3]) {
        shownToken = await token();
        for (const number of [1, 2, 3, 4, 5])
          await new IndependentWorker(`new-${round}-${number}`, client).prove({}, shownToken);
        await before.prove({}, itsToken);
      }
    });
    assert.deepEqual(failed, []);
    client.close();
  });
});
