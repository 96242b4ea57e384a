import { randomBytes, randomUUID } from 'node:crypto';

/** Randomness as a port, so that a simulation can be seeded (design K9). */
export interface Random {
  uuid(): string;
  /** Lower-case hex of `bytes` random bytes. */
  hex(bytes: number): string;
  /** In [0, 1). */
  fraction(): number;
}

export const systemRandom: Random = {
  uuid: () => randomUUID(),
  hex: (bytes) => randomBytes(bytes).toString('hex'),
  fraction: () => Math.random(),
};
