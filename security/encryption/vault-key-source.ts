import { z } from 'zod';
import { SvcError } from '../../runtime/errors.ts';
import { unavailable, type VaultAddress, VaultClient, type VaultLogin } from '../keys/vault-client.ts';
import { DATA_KEY_BYTES, type KeySource } from './key-source.ts';

const KEY_TYPE = 'aes256-gcm96';

const KeyAnswer = z.object({ data: z.object({ type: z.string().max(40), latest_version: z.number().int().min(1) }) });

const EncryptAnswer = z.object({
  data: z.object({ ciphertext: z.string().regex(/^vault:v\d{1,9}:[A-Za-z0-9+/]{1,2000}={0,2}$/) }),
});

const DecryptAnswer = z.object({ data: z.object({ plaintext: z.string().max(1_000) }) });

type VaultKeySourceOptions = Omit<VaultAddress, 'setting'> &
  VaultLogin & {
    /** Mount path of the transit engine. */
    readonly mount: string;
    /** Name of the transit key. A missing key is created (`aes256-gcm96`). */
    readonly key: string;
  };

/** Keys in the transit engine of HashiCorp Vault or OpenBao, over its HTTP API. They never leave it. */
export class VaultKeySource implements KeySource {
  readonly place: string;
  readonly isCopied = false;
  readonly #client: VaultClient;
  readonly #mount: string;
  readonly #key: string;

  constructor(options: VaultKeySourceOptions) {
    this.#client = new VaultClient({ ...options, setting: 'spec.secrets.keys.vault' }, options);
    this.#mount = encodeURIComponent(options.mount);
    this.#key = encodeURIComponent(options.key);
    this.place = `key ${options.key} of ${options.address}`;
  }

  async newest(): Promise<number> {
    const { status, body } = await this.#client.call({ method: 'GET', path: this.#path('keys') });
    if (status === 404) return 0;
    const read = KeyAnswer.safeParse(body);
    if (status !== 200 || !read.success) throw unavailable(`does not show the key (${status})`);
    const { type, latest_version } = read.data.data;
    if (type === KEY_TYPE) return latest_version;
    throw new SvcError(
      'invalid_config',
      `spec.secrets.keys.vault.key: expected a key of type ${KEY_TYPE}, got ${type}`,
    );
  }

  async create(): Promise<number> {
    const isFirst = (await this.newest()) === 0;
    const path = isFirst ? this.#path('keys') : `${this.#path('keys')}/rotate`;
    const { status } = await this.#client.call({ method: 'POST', path, body: isFirst ? { type: KEY_TYPE } : {} });
    if (status === 404) {
      throw new SvcError('invalid_config', 'spec.secrets.keys.vault.mount: no transit engine is mounted there');
    }
    if (status >= 300) throw unavailable(`makes no key version (${status})`);
    return this.newest();
  }

  async wrap(version: number, dataKey: Uint8Array): Promise<string> {
    const body = { plaintext: Buffer.from(dataKey).toString('base64'), key_version: version };
    const answer = await this.#client.call({ method: 'POST', path: this.#path('encrypt'), body });
    const read = EncryptAnswer.safeParse(answer.body);
    if (answer.status === 400 || answer.status === 404) throw missing(version, answer.status);
    if (answer.status !== 200 || !read.success) throw unavailable(`does not encrypt (${answer.status})`);
    return read.data.data.ciphertext;
  }

  async unwrap(version: number, wrapped: string): Promise<Uint8Array> {
    if (!wrapped.startsWith(`vault:v${version}:`)) throw missing(version, 400);
    const body = { ciphertext: wrapped };
    const answer = await this.#client.call({ method: 'POST', path: this.#path('decrypt'), body });
    if (answer.status === 400 || answer.status === 404) throw missing(version, answer.status);
    const read = DecryptAnswer.safeParse(answer.body);
    if (answer.status !== 200 || !read.success) throw unavailable(`does not decrypt (${answer.status})`);
    const dataKey = Buffer.from(read.data.data.plaintext, 'base64');
    if (dataKey.length !== DATA_KEY_BYTES) throw missing(version, answer.status);
    return dataKey;
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  #path(verb: 'keys' | 'encrypt' | 'decrypt'): string {
    return `${this.#mount}/${verb}/${this.#key}`;
  }
}

const missing = (version: number, status: number): SvcError =>
  new SvcError(
    'failed_precondition',
    `key version ${version} of the key service does not open this data key (${status})`,
  );
