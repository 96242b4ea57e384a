import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Files in PEM. */
export interface Certificate {
  readonly cert_path: string;
  readonly key_path: string;
  readonly ca_cert: string;
}

/** An authority of its own in `directory`, and a certificate of it for loopback, good for servers and clients. */
export async function certificateIn(directory: string, name: string): Promise<Certificate> {
  const at = (file: string): string => join(directory, `${name}-${file}`);
  const ca = { key: at('ca.key'), cert: at('ca.crt') };
  const leaf = { key: at('node.key'), request: at('node.csr'), cert: at('node.crt'), extensions: at('node.ext') };
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await run('openssl', [
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    ca.key,
    '-out',
    ca.cert,
    '-days',
    '1',
    '-subj',
    `/CN=${name}-ca`,
  ]);
  await run('openssl', ['req', ...newKey, '-keyout', leaf.key, '-out', leaf.request, '-subj', `/CN=${name}`]);
  await writeFile(
    leaf.extensions,
    'subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n',
  );
  const by = ['-CA', ca.cert, '-CAkey', ca.key, '-CAcreateserial', '-days', '1', '-extfile', leaf.extensions];
  await run('openssl', ['x509', '-req', '-in', leaf.request, ...by, '-out', leaf.cert]);
  return { cert_path: leaf.cert, key_path: leaf.key, ca_cert: ca.cert };
}
