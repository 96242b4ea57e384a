import { z } from 'zod';

const SEMVER =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-((0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

const manifestName = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,62}$/,
    'expected 1 to 63 lower-case letters, digits and dashes, not starting with a dash',
  );

const manifestVersion = z
  .string('expected text; write the version in quotes, such as "1.0.0"')
  .max(100)
  .regex(SEMVER, 'expected a semantic version such as 1.0.0');

const texts = z.record(z.string().min(1).max(256), z.string('expected text; put it in quotes').max(4_096)).default({});

/** `metadata` of every deployable manifest (W2). (name, version) is unique. */
export const metadataFields = {
  name: manifestName,
  version: manifestVersion,
  description: z.string().max(4_096).default(''),
  labels: texts,
  annotations: texts,
};

/** Maximum number of labels of one run. */
const MOST_LABELS = 16;

const labelKey = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/,
    'a key has 1 to 63 letters, digits, dots, dashes, slashes and underscores, and begins with a letter or digit',
  );

/** Labels given at the start of a run. They never change; lists filter by them. */
export const RunLabels = z
  .record(labelKey, z.string().max(200, 'a value has at most 200 characters'))
  .refine((labels) => Object.keys(labels).length <= MOST_LABELS, `at most ${MOST_LABELS} labels`);

export type RunLabels = z.output<typeof RunLabels>;

/** `{api_group}` of the specification. Every manifest and node configuration has `apiVersion: svc.dev/v1`. */
export const API_GROUP = 'svc.dev';

export const API_VERSION = `${API_GROUP}/v1` as const;

/**
 * The record that a step needs of a volume beside its id. It never changes, so a run stores it in its state, and an effect that
 * gets it needs no look-up: work continues while the document store is down.
 */
export const KnownVolume = z.object({
  /** Null: no limit. */
  size_limit_bytes: z.number().int().nullable(),
  /** The execution it was created for; null for one created through the API. */
  workflow_execution_id: z.string().nullable(),
});

export type KnownVolume = z.output<typeof KnownVolume>;
