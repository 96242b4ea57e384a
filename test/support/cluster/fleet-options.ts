import { z } from 'zod';

/** Options of a node's process. */
export interface FleetNodeOptions {
  /** Path of its `NodeConfig` document. */
  readonly configFile: string;
  /** URL of the module of the workload. */
  readonly workload: string;
  /** Share of store calls whose answer is dropped, 0 to 1. */
  readonly ambiguity: number;
  readonly seed: number;
  /** Path of the script to start (`PackagedNode`). Not set: the sources are started. */
  readonly script?: string | undefined;
}

/** Options of an adapter's process. */
export interface AdapterOptions {
  readonly dataDir: string;
  readonly redis: string;
  readonly mongodb: string;
  readonly partitions: number;
  readonly workload: string;
  readonly ambiguity: number;
  readonly seed: number;
}

/** `GET /local` of a node: what it holds and did since it started. */
export const LocalFigures = z.object({
  node: z.string(),
  /** Its clock, Unix ms. */
  now: z.number(),
  committed: z.number(),
  fenced: z.number(),
  ambiguous: z.number(),
  /** When it committed under which lease; Unix ms on the store's clock. */
  spans: z.array(
    z.object({
      partition: z.string(),
      log: z.string(),
      epoch: z.number(),
      from: z.number(),
      to: z.number(),
      commits: z.number(),
    }),
  ),
});
export type LocalFigures = z.infer<typeof LocalFigures>;

/** The process' argument. */
export function readOptions<T>(): T {
  const options: T = JSON.parse(process.argv[2] ?? 'null');
  return options;
}
