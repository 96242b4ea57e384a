import { z } from 'zod';
import { systemText } from '../contract/arguments.ts';

/** Arguments that several management tools share (spec 3, Endpoints). */

const NAME_CHARS = 256;
/** Entries of a log that one call answers with, at most (spec 3, Limits). */
export const MAX_LOG_EVENTS = 200;
/** Entries of a list that one call answers with, at most (original-facts 8). */
export const MAX_LISTED = 1_000;
/** What the stores leave out of a list at most. */
const MAX_OFFSET = 1_000_000;
/** Longest goal, description or answer in words, characters. */
export const TEXT_CHARS = 65_536;
/** Longest manifest, characters. */
const MANIFEST_CHARS = 1024 * 1024;

export const manifestYaml = systemText(MANIFEST_CHARS).min(1).describe('The whole manifest, YAML.');

export const force = z
  .boolean()
  .default(false)
  .describe('Overwrites the same name and version; a new version is the better way.');

/** A UUID in any case is one and the same. */
const uuid = (what: string) =>
  z
    .guid(`expected ${what}`)
    .describe(`${what.charAt(0).toUpperCase()}${what.slice(1)}.`)
    .toLowerCase();

export const agentId = uuid('the UUID of an agent');
export const executionId = uuid('the UUID of an execution');

/** A UUID in lower case, and names as they are. */
export const nameOrUuid = (what: string) => systemText(NAME_CHARS).min(1).describe(`Name or UUID of ${what}.`);

export const version = systemText(64).min(1).optional().describe('Default: the latest deployed version.');

export const tenantId = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'expected a tenant slug')
  .optional()
  .describe('Default: your own; others are for service accounts.');

/** More than `most` is no mistake: it is capped. */
export const limit = (usual: number, most: number) =>
  z
    .int()
    .min(1)
    .default(usual)
    .describe(`At most so many; capped at ${most}.`)
    .transform((asked) => Math.min(asked, most));

export const offset = z.int().min(0).max(MAX_OFFSET).default(0).describe('Leaves out so many from the start.');

/** Any JSON object. Two steps: the schema of `z.json()` refers to itself, which clients of MCP do not all follow. */
export const jsonObject = z.record(z.string(), z.unknown()).pipe(z.record(z.string(), z.json()));
