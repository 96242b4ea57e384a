import type { WorkflowManifest } from '../schema.ts';
import { type Flow, flowOf } from './flow.ts';
import { type ReadText, readTexts } from './texts.ts';

/** What is deployed, as far as the caller can see it. An absent lookup: nothing is said about it. */
export interface Known {
  /** Whether an agent of this name or UUID is deployed. */
  readonly agents?: (nameOrId: string) => boolean;
  /** The manifest of the workflow of this name or UUID that would run. */
  readonly workflows?: (nameOrId: string) => WorkflowManifest | undefined;
}

/** What every rule looks at: the manifest, its graph and its templates, each worked out once. */
export interface Subject {
  readonly manifest: WorkflowManifest;
  readonly flow: Flow;
  readonly texts: readonly ReadText[];
  readonly known: Known;
}

export const subjectOf = (manifest: WorkflowManifest, known: Known): Subject => ({
  manifest,
  flow: flowOf(manifest),
  texts: readTexts(manifest),
  known,
});
