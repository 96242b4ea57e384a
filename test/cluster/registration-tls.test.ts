import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ServerCredentials } from '@grpc/grpc-js';
import { clusterCredentials, openClusterCertificate } from '../../cluster/registration/channel.ts';
import { systemClock } from '../../runtime/clock.ts';
import { type Certificate, certificateIn } from '../support/certificates.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type ControllerStandIn, FleetState, startController } from './controller-stand-in.ts';
import { RegisteredNode } from './registered-node.ts';

const quiet = { clock: systemClock, log: { info: () => {}, warn: () => {} } };

const credentialsOf = async (certificate: Certificate) =>
  clusterCredentials(await openClusterCertificate({ enabled: true, ...certificate }, quiet));

describe('mutual TLS between a node and its controllers', () => {
  let directory = '';
  let ours: Certificate;
  let another: Certificate;
  let controller: ControllerStandIn;
  const fleet = new FleetState();
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-registration-tls-'));
    [ours, another] = await Promise.all([certificateIn(directory, 'ours'), certificateIn(directory, 'another')]);
    const pair = { cert_chain: await readFile(ours.cert_path), private_key: await readFile(ours.key_path) };
    const credentials = ServerCredentials.createSsl(await readFile(ours.ca_cert), [pair], true);
    controller = await startController(fleet, 0, credentials);
  });
  after(async () => {
    await controller.stop();
    await rm(directory, { recursive: true });
  });

  test('a node with a certificate of the fleet enrols', async () => {
    const credentials = await credentialsOf(ours);
    await using _node = new RegisteredNode([controller.address], { credentials });
    await waitUntil('a heartbeat', () => fleet.beats.length > 0);
  });

  test('a controller or node with a certificate of another authority is refused', async () => {
    const seen = fleet.count('AttestNode');
    const mixes = [
      { ...another, ca_cert: ours.ca_cert },
      { ...ours, ca_cert: another.ca_cert },
    ];
    for (const mix of mixes) {
      const credentials = await credentialsOf(mix);
      await using setup = new RegisteredNode([controller.address], { credentials });
      await waitUntil('the controllers to be unreachable', () => setup.registration.state().phase === 'unreachable');
    }
    await using plain = new RegisteredNode([controller.address]);
    await waitUntil('the controllers to be unreachable', () => plain.registration.state().phase === 'unreachable');
    assert.equal(fleet.count('AttestNode'), seen);
  });

  test('the error for a missing file or one without PEM names its setting', async () => {
    const missing = credentialsOf({ ...ours, key_path: join(directory, 'nowhere') });
    await assert.rejects(missing, /spec\.cluster\.tls\.key_path: the file cannot be read \(ENOENT\)/);
    const path = join(directory, 'nonsense');
    await writeFile(path, 'nonsense');
    for (const [setting, expected] of [
      ['key_path', /spec\.cluster\.tls\.key_path: expected the private key of the certificate in PEM/],
      ['cert_path', /spec\.cluster\.tls\.cert_path: expected a certificate in PEM/],
      ['ca_cert', /spec\.cluster\.tls\.ca_cert: expected the certificate of an authority in PEM/],
    ] as const)
      await assert.rejects(credentialsOf({ ...ours, [setting]: path }), expected);
    await assert.rejects(credentialsOf({ ...ours, key_path: another.key_path }), /key_path: expected the private key/);
  });
});
