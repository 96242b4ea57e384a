import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { credentials } from '@grpc/grpc-js';
import { IndependentWorker } from './independent-worker.ts';
import { type FleetNode, fleetNode } from './node.ts';
import { PageClient } from './page.ts';

const run = promisify(execFile);

/** Certificates as an operator makes them: an authority, and a pair that it signed. */
async function authority(directory: string, name: string) {
  const at = (file: string): string => join(directory, `${name}-${file}`);
  const openssl = (...args: readonly string[]) => run('openssl', [...args]);
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await openssl(
    'req',
    '-x509',
    ...curve,
    '-days',
    '2',
    '-subj',
    `/CN=${name}`,
    '-keyout',
    at('ca.key'),
    '-out',
    at('ca.pem'),
  );
  await openssl('req', ...curve, '-subj', '/CN=localhost', '-keyout', at('node.key'), '-out', at('node.csr'));
  await writeFile(at('ext'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
  const signing = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '2', '-extfile', at('ext')];
  await openssl('x509', '-req', '-in', at('node.csr'), ...signing, '-out', at('node.pem'));
  const [ca, cert, key] = await Promise.all(['ca.pem', 'node.pem', 'node.key'].map((file) => readFile(at(file))));
  assert.ok(ca !== undefined && cert !== undefined && key !== undefined);
  return { ca, cert, key };
}

describe('the cluster port with TLS', { timeout: 300_000 }, () => {
  let directory: string;
  let ours: Awaited<ReturnType<typeof authority>>;
  let others: Awaited<ReturnType<typeof authority>>;
  let at: FleetNode;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-mtls-'));
    [ours, others] = await Promise.all([authority(directory, 'ours'), authority(directory, 'others')]);
    const certificate = { current: ours, onChange: () => () => {} };
    at = await fleetNode({ tls: { certificate, minVersion: 'TLSv1.2' } });
  });
  after(async () => {
    await at[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  test('a node with a certificate of the fleet’s authority is served', async () => {
    const client = new PageClient(at.address, credentials.createSsl(ours.ca, ours.key, ours.cert));
    await new IndependentWorker('secured', client).join();
    client.close();
  });

  const strangers: readonly [what: string, secured: () => ReturnType<typeof credentials.createSsl>][] = [
    ['without a certificate', () => credentials.createSsl(ours.ca)],
    ['with a certificate of another authority', () => credentials.createSsl(ours.ca, others.key, others.cert)],
    ['that speaks no TLS', () => credentials.createInsecure()],
  ];
  for (const [what, secured] of strangers) {
    test(`a client ${what} is refused before its request is read`, async () => {
      const client = new PageClient(at.address, secured());
      const { code } = await new IndependentWorker('outsider', client).attest();
      assert.equal(code, 'UNAVAILABLE');
      client.close();
      assert.ok(!at.logged.some((line) => line.includes('AttestNode')), 'no call was seen');
    });
  }
});
