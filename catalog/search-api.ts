import type { CatalogReader } from './workflow-api.ts';

/** A search of the catalog (spec 3, svc.agent.search and svc.workflow.search). */
export interface SearchRequest {
  readonly query: string;
  /** Default 10, at most 100. */
  readonly limit?: number;
  /** 0 to 1; default 0.3. */
  readonly minScore?: number;
  /** All pairs must match. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Default: deployed and paused ones. */
  readonly status?: string;
  /** What ships with the product, and agents and workflows at scope global; default true. */
  readonly includePlatformTemplates?: boolean;
}

export interface SearchHit {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  /** 0 to 1, best first. */
  readonly score: number;
}

/**
 * Search by meaning over what a reader sees, kept in step with the catalog: what is deployed when the search begins is
 * found, what is deleted then is not. Throws `cortex_not_configured` where memory is switched off.
 */
export interface CatalogSearch {
  agents(reader: CatalogReader, request: SearchRequest): Promise<readonly SearchHit[]>;
  workflows(reader: CatalogReader, request: SearchRequest): Promise<readonly SearchHit[]>;
}

/** A model that turns texts into directions: texts that mean the same point the same way. */
export interface Embeddings {
  /** Names the model and what it was told to do: vectors of different ones are not compared. */
  readonly model: string;
  /** One list of numbers for each text, in their order. Throws `model_unavailable` or `model_failed`, without secrets. */
  embed(texts: readonly string[]): Promise<readonly (readonly number[])[]>;
}
