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

/** What `metadata` of every deployable manifest holds (spec 3, metadata). (name, version) is unique. */
export const metadataFields = {
  name: manifestName,
  version: manifestVersion,
  description: z.string().max(4_096).default(''),
  labels: texts,
  annotations: texts,
};
