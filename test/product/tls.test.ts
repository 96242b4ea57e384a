import assert from 'node:assert/strict';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type ConnectionOptions, connect } from 'node:tls';
import { Client, credentials } from '@grpc/grpc-js';
import { startNode } from '../../main.ts';
import { systemClock } from '../../runtime/clock.ts';
import { type Certificate, certificateIn } from '../support/certificates.ts';
import { NodeProcess } from '../support/node-process.ts';
import { waitUntil } from '../support/wait-until.ts';

/** Interval at which a node checks the files of a certificate (security/certificate-files.ts). */
const CERTIFICATE_POLL_MS = 5_000;

/** Status of GET, and the subject of the certificate that the server sent. */
function ask(url: string, ca: Buffer, agent?: Agent): Promise<{ readonly status: number; readonly shown: string }> {
  return new Promise((resolve, reject) => {
    const options = agent === undefined ? { ca, agent: false } : { ca, agent };
    const request = get(url, options, (answer) => {
      const shown = shownBy(answer.socket);
      answer.resume().once('end', () => resolve({ status: answer.statusCode ?? 0, shown }));
    });
    request.once('error', reject);
  });
}

function shownBy(socket: object): string {
  assert.ok('getPeerCertificate' in socket && typeof socket.getPeerCertificate === 'function');
  return String(socket.getPeerCertificate().subject.CN);
}

/** The end of a raw connection: the TLS version that was agreed on, or the error's code. */
function handshake(port: number, options: ConnectionOptions): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ...options }, () => {
      resolve(String(socket.getProtocol()));
      socket.destroy();
    });
    socket.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    socket.once('close', () => resolve('closed'));
  });
}

const ready = (address: string, ca: Buffer | null, withinMs: number): Promise<boolean> =>
  new Promise((resolve) => {
    const client = new Client(address, ca === null ? credentials.createInsecure() : credentials.createSsl(ca));
    client.waitForReady(Date.now() + withinMs, (error) => {
      resolve(error === undefined || error === null);
      client.close();
    });
  });

describe('public addresses with TLS', { timeout: 300_000 }, () => {
  let directory = '';
  let first: Certificate;
  let second: Certificate;
  let node: NodeProcess;
  let cas: { readonly first: Buffer; readonly second: Buffer };
  const at = (name: string): string => join(directory, name);
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'svc-tls-'));
    [first, second] = await Promise.all([certificateIn(directory, 'first'), certificateIn(directory, 'second')]);
    cas = { first: await readFile(first.ca_cert), second: await readFile(second.ca_cert) };
    await copyFile(first.cert_path, at('live.crt'));
    await copyFile(first.key_path, at('live.key'));
    const tls = `{enabled: true, cert_path: ${at('live.crt')}, key_path: ${at('live.key')}}`;
    const yaml = `apiVersion: svc.dev/v1\nkind: NodeConfig\nmetadata: {name: secure}\nspec: {network: {tls: ${tls}}}\n`;
    await writeFile(at('svc.yaml'), yaml);
    node = new NodeProcess(['--data', at('data'), '--config', at('svc.yaml')]);
    node.spawn();
  });
  after(async () => {
    await node.stop();
    await rm(directory, { recursive: true, force: true });
  });

  test('REST and gRPC are served to clients that trust the authority, and never in plain text', async () => {
    const url = await node.url;
    assert.match(url, /^https:/);
    assert.deepEqual(await ask(`${url}/health/ready`, cas.first), { status: 200, shown: 'first' });
    await assert.rejects(ask(`${url}/health/ready`, cas.second), /unable to verify|self-signed|unable to get/);
    await assert.rejects(fetch(`${url.replace('https', 'http')}/health/ready`));
    const grpcAddress = await node.grpcAddress;
    assert.equal(await ready(grpcAddress, cas.first, 20_000), true);
    assert.equal(await ready(grpcAddress, cas.second, 3_000), false);
    assert.equal(await ready(grpcAddress, null, 3_000), false);
    // The address for agents' programs is on this machine only.
    assert.match((await node.internal).url, /^http:/);
  });

  test('no version before TLS 1.2 is accepted, and half a handshake blocks no other client', async () => {
    const port = Number(new URL(await node.url).port);
    const old = { ca: cas.first, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    assert.doesNotMatch(await handshake(port, old), /^TLS/);
    assert.equal(await handshake(port, { ca: cas.first, maxVersion: 'TLSv1.2' }), 'TLSv1.2');
    assert.equal(await handshake(port, { ca: cas.first }), 'TLSv1.3');
    const silent = Array.from({ length: 50 }, () => connectPlain(port, '127.0.0.1'));
    try {
      for (const socket of silent) socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02]));
      const url = await node.url;
      assert.equal((await ask(`${url}/health/ready`, cas.first)).status, 200);
    } finally {
      for (const socket of silent) socket.destroy();
    }
  });

  test('replaced files are used for new connections; an open connection continues, half a replacement changes nothing', async () => {
    const url = await node.url;
    const kept = new Agent({ keepAlive: true, maxSockets: 1, ca: cas.first });
    try {
      assert.equal((await ask(`${url}/health/ready`, cas.first, kept)).shown, 'first');
      await copyFile(second.cert_path, at('live.crt'));
      await waitUntil('the mismatch is logged', () => node.log.includes('the new certificate cannot be used'));
      assert.equal((await ask(`${url}/health/ready`, cas.first)).shown, 'first');
      await copyFile(second.key_path, at('live.key'));
      await waitUntil('the new certificate is shown', async () => {
        const answer = await ask(`${url}/health/ready`, cas.second).catch(() => null);
        return answer?.shown === 'second';
      });
      assert.deepEqual(await ask(`${url}/health/ready`, cas.first, kept), { status: 200, shown: 'first' });
      assert.equal(await ready(await node.grpcAddress, cas.second, 20_000), true);
      assert.doesNotMatch(node.log, /PRIVATE KEY/);
    } finally {
      kept.destroy();
    }
  });

  test('a node whose certificate files cannot be used does not start, and names the setting', async () => {
    const refused = async (fields: string): Promise<string> => {
      const yaml = `apiVersion: svc.dev/v1\nkind: NodeConfig\nmetadata: {name: secure}\nspec: {network: {tls: {enabled: true, ${fields}}}}\n`;
      await writeFile(at('refused.yaml'), yaml);
      const other = new NodeProcess(['--data', at('refused'), '--config', at('refused.yaml')]);
      other.spawn();
      const text = await other.url.then(
        () => 'it started',
        (thrown: unknown) => String(thrown),
      );
      await other.stop();
      return text;
    };
    const cert = `cert_path: ${at('live.crt')}`;
    assert.match(await refused(cert), /spec\.network\.tls\.key_path/);
    assert.match(await refused(`${cert}, key_path: ${at('nowhere')}`), /spec\.network\.tls\.key_path: .*ENOENT/);
    assert.match(
      await refused(`${cert}, key_path: ${first.key_path}`),
      /spec\.network\.tls\.key_path: expected the private key of the certificate/,
    );
  });

  test('a node whose public certificate cannot be used leaves nothing of its cluster part running', async (t) => {
    const cluster = `{enabled: true, role: controller, cluster_grpc_port: 0, tls: {enabled: true, cert_path: ${first.cert_path}, key_path: ${first.key_path}, ca_cert: ${first.ca_cert}}}`;
    const tls = `{enabled: true, cert_path: ${at('live.crt')}, key_path: ${at('nowhere')}}`;
    const spec = `{network: {tls: ${tls}}, cluster: ${cluster}}`;
    const yaml = `apiVersion: svc.dev/v1\nkind: NodeConfig\nmetadata: {name: unfinished}\nspec: ${spec}\n`;
    await writeFile(at('unfinished.yaml'), yaml);
    const armed = new Set<object>();
    const { after: afterwards } = systemClock;
    let looks = 0;
    t.mock.method(systemClock, 'after', (delayMs: number, call: () => void) => {
      const cancel = afterwards(delayMs, call);
      if (delayMs !== CERTIFICATE_POLL_MS) return cancel;
      looks += 1;
      const timer = {};
      armed.add(timer);
      return () => {
        armed.delete(timer);
        cancel();
      };
    });
    const flags = { data: at('unfinished'), config: at('unfinished.yaml') };
    await assert.rejects(startNode({ flags, env: {} }), /spec\.network\.tls\.key_path: .*ENOENT/);
    assert.ok(looks > 0);
    assert.equal(armed.size, 0);
  });
});
