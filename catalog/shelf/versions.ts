import compareBuild from 'semver/functions/compare-build.js';

/** One deployed version of an agent or workflow. */
export interface VersionEntry {
  /** Semantic version of the manifest. */
  readonly version: string;
  readonly manifest_id: string;
  readonly deployed_at: string;
}

/** Versions of a name are kept in its record, so their number is bounded. */
export const MAX_VERSIONS = 1_000;

/** The list with `entry` added, or put in place of the same version; newest first by semantic version. */
export function withVersion(entries: readonly VersionEntry[], entry: VersionEntry): VersionEntry[] {
  const others = entries.filter((other) => other.version !== entry.version);
  return [entry, ...others].sort((a, b) => compareBuild(b.version, a.version));
}
