import type { CatalogStatus } from '../api.ts';

/** What every manifest says of itself. */
export interface ManifestHead {
  readonly metadata: {
    readonly name: string;
    readonly version: string;
    readonly description: string;
    readonly labels: Readonly<Record<string, string>>;
  };
}

/** What tells agents from workflows: words, event types, and what a list shows of a manifest. */
export interface ShelfKind<Manifest extends ManifestHead> {
  readonly noun: 'agent' | 'workflow';
  /** Names whose event it is, in the payload and in the row. */
  readonly idField: 'agent_id' | 'workflow_id';
  readonly events: {
    readonly deployed: string;
    readonly removed: string;
    readonly moved: string;
    /** By the status it has now; back to `deployed` is the event of resuming. */
    readonly status: Readonly<Record<CatalogStatus, string>>;
  };
  /** Of a text that was deployed. */
  read(manifestYaml: string): Manifest;
  shown(manifest: Manifest): Shown;
}

/** What lists and summaries show of a manifest. */
export interface Shown {
  readonly description: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly initial_state?: string;
}
