import { hash, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Clock } from '../runtime/clock.ts';
import { SvcError } from '../runtime/errors.ts';
import { systemCode } from '../runtime/kit/system-code.ts';
import { repeat } from '../runtime/kit/waits.ts';
import type { Certificate, Pem } from './api.ts';

/** Paths of the PEM files of a certificate, and the settings that name them. */
interface CertificatePaths {
  readonly cert: string;
  readonly key: string;
  /** Authority that signs client certificates; absent: clients need none. */
  readonly ca?: string;
  /** Setting of each path, for errors: `spec.network.tls.cert_path`. */
  readonly fields: { readonly cert: string; readonly key: string; readonly ca?: string };
}

export interface CertificateParts {
  readonly clock: Clock;
  readonly log: {
    info(line: object, message: string): void;
    warn(line: object, message: string): void;
  };
}

/** Polling interval. Polling sees every way of replacing files, including links to directories. */
const POLL_MS = 5_000;
/** Expiry within this time is logged at each start. */
const SOON_MS = 7 * 24 * 3_600_000;

type Listener = (pem: Pem) => void;

/**
 * A certificate and its key in files that are polled at run time: after they are replaced, new connections use the new ones. An
 * unusable certificate (such as one that is only half replaced) is logged, and the current one stays in use.
 */
export class CertificateFiles implements Certificate {
  readonly #paths: CertificatePaths;
  readonly #parts: CertificateParts;
  readonly #listeners = new Set<Listener>();
  #pem: Pem;
  /** Digest of the files at the last poll, usable or not. */
  #seen: string;
  readonly #end: () => Promise<void>;
  #closed = false;

  /** Throws `invalid_config` naming the setting whose file cannot be read or used. */
  static async open(paths: CertificatePaths, parts: CertificateParts): Promise<CertificateFiles> {
    const pem = await readPem(paths);
    check(pem, paths);
    return new CertificateFiles(paths, parts, pem);
  }

  private constructor(paths: CertificatePaths, parts: CertificateParts, pem: Pem) {
    this.#paths = paths;
    this.#parts = parts;
    this.#pem = pem;
    this.#seen = digestOf(pem);
    this.#warnOfExpiry();
    const unchecked = (thrown: unknown): void =>
      parts.log.warn({ text: String(thrown) }, 'the certificate files could not be checked');
    this.#end = repeat(parts.clock, POLL_MS, () => this.#look().catch(unchecked));
  }

  get current(): Pem {
    return this.#pem;
  }

  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#closed = true;
    void this.#end();
    this.#listeners.clear();
  }

  async #look(): Promise<void> {
    const { log } = this.#parts;
    const file = this.#paths.cert;
    let pem: Pem;
    try {
      pem = await readPem(this.#paths);
      const seen = digestOf(pem);
      if (seen === this.#seen || this.#closed) return;
      this.#seen = seen;
      check(pem, this.#paths);
    } catch (thrown) {
      const text = thrown instanceof Error ? thrown.message : String(thrown);
      log.warn({ file, text }, 'the new certificate cannot be used; the previous one stays in use');
      return;
    }
    this.#pem = pem;
    log.info({ file, ...lifeOf(pem.cert) }, 'a new certificate is in force');
    this.#warnOfExpiry();
    for (const listener of this.#listeners) listener(pem);
  }

  #warnOfExpiry(): void {
    const { validTo } = new X509Certificate(this.#pem.cert);
    const leftMs = Date.parse(validTo) - this.#parts.clock.now();
    if (leftMs > SOON_MS) return;
    const message = leftMs > 0 ? 'the certificate ends soon' : 'the certificate has ended: clients refuse it';
    this.#parts.log.warn({ file: this.#paths.cert, valid_to: validTo }, message);
  }
}

async function readPem({ cert, key, ca, fields }: CertificatePaths): Promise<Pem> {
  const read = async (path: string, field: string): Promise<Buffer> => {
    try {
      return await readFile(path);
    } catch (cause) {
      const code = systemCode(cause);
      throw new SvcError('invalid_config', `${field}: the file cannot be read (${code})`, { field, cause });
    }
  };
  const [certificate, privateKey, authority] = await Promise.all([
    read(cert, fields.cert),
    read(key, fields.key),
    ca === undefined ? null : read(ca, fields.ca ?? fields.cert),
  ]);
  return { cert: certificate, key: privateKey, ca: authority };
}

/** Throws `invalid_config` naming the invalid file; errors never contain parts of the key. */
function check({ cert, key, ca }: Pem, { fields }: CertificatePaths): void {
  usable(fields.cert, 'a certificate in PEM', () => new X509Certificate(cert));
  if (ca !== null)
    usable(fields.ca ?? fields.cert, 'the certificate of an authority in PEM', () => new X509Certificate(ca));
  usable(fields.key, 'the private key of the certificate in PEM, without a passphrase', () =>
    createSecureContext({ cert, key }),
  );
}

function usable(field: string, expected: string, use: () => unknown): void {
  try {
    use();
  } catch {
    throw new SvcError('invalid_config', `${field}: expected ${expected}`, { field });
  }
}

function lifeOf(cert: Buffer): { readonly subject: string; readonly valid_to: string } {
  const { subject, validTo } = new X509Certificate(cert);
  return { subject, valid_to: validTo };
}

const digestOf = ({ cert, key, ca }: Pem): string =>
  hash('sha256', Buffer.concat([cert, key, ca ?? Buffer.alloc(0)]), 'hex');
